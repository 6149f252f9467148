/* SPDX-License-Identifier: Apache-2.0 */
/* page.S: the files of the page, as they are, for html.c. The build adds their folder to where .incbin looks. */
	.macro file name, path
	.global \name, \name\()_end
\name:	.incbin "\path"
\name\()_end:
	.endm

	.section .rodata
	file page_html, "page.html"
	file page_css, "page.css"
	file page_data_js, "data.js"
	file page_words_js, "words.js"
	file page_timeline_js, "timeline.js"
	file page_panels_js, "panels.js"
	file page_main_js, "main.js"

	.section .note.GNU-stack, "", %progbits
