# 1 "fuzz.ci"
# 1 "<built-in>"
# 7 "none.h" 1
module m { group G { entry G(); entry void f(int x; }; };
