import { beforeAll, beforeEach, vi } from 'vitest';

/** What functions in this process log, by lines, since the test began. All else that is written is shown. */
export function logForTests(): () => string[] {
  let lines: string[] = [];
  const { stdout } = process;
  beforeAll(() => {
    const write = stdout.write.bind(stdout);
    const spy = vi.spyOn(stdout, 'write').mockImplementation((text, ...others) => {
      if (!`${text}`.startsWith('{')) return write(text, ...(others as []));
      lines.push(...`${text}`.trim().split('\n'));
      return true;
    });
    return () => spy.mockRestore();
  });
  beforeEach(() => {
    lines = [];
  });
  return () => lines;
}
