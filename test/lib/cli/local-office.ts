import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { type Target, targetFrom } from '../../../lib/deployment/target.ts';
import { type Controls, controlsOf } from '../../local/controls.ts';
import { type Stack, type StackOptions, startStack } from '../../local/stack.ts';

/** The whole of sis-relay on this machine for a test file, as the command meets it. */
export function localOffice(options: StackOptions = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'sis-relay-office-'));
  const file = join(folder, 'stack.json');
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack(options);
    writeFileSync(file, JSON.stringify(stack.description));
  });
  afterAll(async () => {
    await stack.close();
    rmSync(folder, { recursive: true });
  });
  return {
    folder,
    file,
    stack: () => stack,
    controls: (): Controls => controlsOf(stack.description),
    /** With other settings of the platform than the local ones. */
    target: (settings: Record<string, string> = {}): Target => {
      const target = targetFrom({ local: file, as: 'a test' });
      return { ...target, platform: async () => ({ ...(await target.platform()), ...settings }) };
    },
  };
}
