/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pingack.c through MPI: rank 0 sends a flood to all others in turn, they acknowledge the
 * flood, or each message of it.
 *
 *	mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 \
 *		build/bench/lab/pingack_mpi.openmpi
 *	mpiexec.hydra -n 2 build/bench/lab/pingack_mpi.mpich
 *
 * Options: bench.h's, and --smoke. Prints `name bytes value unit`, medians; "mpich" instead of
 * "openmpi" with that:
 *	pingack-openmpi       Mmsg/s  messages sent, over the time until all acknowledgements of
 *	                              floods are back
 *	pingack-each-openmpi  Mmsg/s  the same with one acknowledgement per message, taken when the
 *	                              flood is out; they are not counted
 *
 * MPI_Send and MPI_Recv in order, which is the fastest that these libraries have for small
 * messages (bench/mpi/rate_mpi has MPI_Isend). Every message is written afresh and read.
 */
#include "bench_mpi.h"

#include "pingack.h"

enum kind { ONE_ACK, EACH_ACK, KINDS };
enum { TAG_DATA = 1, TAG_ACK };

struct pingack {
	struct plan_options opt;
	int rank, ranks;
	/* of the run that goes on: */
	struct bench_payload payload; /* sent from here, or received here */
	void *area;
	int flood;
	bool each;
};

static void wait_for_acks(const struct pingack *p)
{
	int n = (p->ranks - 1) * (p->each ? p->flood : 1);

	while (n-- > 0)
		MPI_Recv(NULL, 0, MPI_BYTE, MPI_ANY_SOURCE, TAG_ACK, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
}

static void send_flood(struct pingack *p)
{
	for (int i = 1; i <= p->flood; i++) {
		if (p->opt.common.touch)
			bench_refresh(&p->payload, (uint64_t)i);
		for (int to = 1; to < p->ranks; to++)
			MPI_Send(p->payload.start, (int)p->payload.bytes, MPI_BYTE, to, TAG_DATA,
				 MPI_COMM_WORLD);
	}
	wait_for_acks(p);
}

static void receive_flood(struct pingack *p)
{
	for (int i = 1; i <= p->flood; i++) {
		MPI_Recv(p->payload.start, (int)p->payload.bytes, MPI_BYTE, 0, TAG_DATA,
			 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		if (p->opt.common.touch && !bench_arrived_whole(&p->payload, (uint64_t)i)) {
			fprintf(stderr, "pingack_mpi: message %d of %zu bytes is not what was "
					"sent\n", i, p->payload.bytes);
			MPI_Abort(MPI_COMM_WORLD, 1);
		}
		if (p->each || i == p->flood)
			MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_ACK, MPI_COMM_WORLD);
	}
}

/* The first flood is not timed. The microseconds of the others, by rank 0's clock, so that all
 * ranks plan alike. */
static double run(struct pingack *p, const struct series *s)
{
	double us = 0;

	p->area = bench_alloc(bench_area_bytes(s->parameter));
	bench_payload_init(&p->payload, p->area, s->parameter);
	p->flood = pingack_flood(s->parameter);
	p->each = s->kind == EACH_ACK;
	for (long i = -1; i < s->count; i++) {
		if (i == 0)
			us = bench_now_us();
		if (p->rank == 0)
			send_flood(p);
		else
			receive_flood(p);
	}
	us = bench_now_us() - us;
	MPI_Bcast(&us, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	free(p->area);
	return us;
}

static void report(const struct pingack *p, struct plan *plan)
{
	for (int i = 0; i < plan->n; i++) {
		const struct series *s = &plan->series[i];
		double n = (double)pingack_flood(s->parameter) * (p->ranks - 1);

		printf("pingack%s-%s %zu %.3f Mmsg/s\n", s->kind == EACH_ACK ? "-each" : "",
		       bench_mpi_library(), s->parameter,
		       n / plan_us(plan, s->kind, s->parameter));
	}
}

int main(int argc, char **argv)
{
	static struct plan plan;
	static struct pingack p;

	MPI_Init(&argc, &argv);
	pingack_options_init(&p.opt);
	for (int i = 1; i < argc; i++)
		if (!plan_option(&p.opt, argc, argv, &i))
			bench_mpi_refuse("pingack_mpi: unknown option %s\n", argv[i]);
	MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &p.ranks);
	if (p.ranks < 2)
		bench_mpi_refuse("pingack_mpi: needs 2 ranks or more\n");
	if (p.opt.common.pin)
		bench_mpi_pin(p.rank);
	plan_init(&plan, &p.opt);
	for (int kind = 0; kind < KINDS; kind++)
		for (int i = 0; i < p.opt.common.nsizes; i++)
			plan_add(&plan, kind, p.opt.common.bytes[i]);
	while (plan_record(&plan, run(&p, plan_current(&plan))))
		;
	if (p.rank == 0)
		report(&p, &plan);
	MPI_Finalize();
	return 0;
}
