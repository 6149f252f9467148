# 1 "accept/cpp.ci"
/* SPDX-License-Identifier: Apache-2.0 */




module preprocessed {

  group Cache { entry Cache(); };



  readonly int table[3];
# 1 "cpp_part.h" 1


message Part { int n; double v[]; };
# 14 "accept/cpp.ci" 2
  array [2D] A {
    entry A(int width, int height);
    entry void f(int x, int y, double v[x * 3]);

    entry void g();

  };
};
