/**
 * The small program that the demo builds in the sandbox: counts lines, as `wc -l` does.
 * @module demo/program
 */
export const PROGRAM = `#include <stdio.h>

int main(void) {
  long lines = 0;
  for (int c; (c = getchar()) != EOF;) lines += c == '\\n';
  printf("%ld\\n", lines);
  return 0;
}
`
