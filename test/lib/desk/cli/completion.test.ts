import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { documentIn, typed } from './typed.ts';

const root = resolve(import.meta.dirname, '../../../..');

/** What stands for the command in bash: its process, or one that gives its answer where it is asked just that. */
const inItsProcess = `'${process.execPath}' lib/desk/cli/sis-relay.js "$@"`;
const ifAsked = `[ "$*" = "$ASKED" ] && printf '%s' "$ANSWER"`;

describe('bash, with the script that the command prints,', () => {
  const completed = async (words: string[], command = ifAsked): Promise<string[]> => {
    const { out: script } = await typed('completion bash');
    const { out: ANSWER } = await typed(`complete -- ${words.map((word) => `"${word}"`).join(' ')}`);
    // Bash joins them by what the script parts lines by.
    const ASKED = ['complete', '--', ...words].join('\n');
    const { stdout, stderr } = spawnSync(
      'bash',
      [
        '-c',
        `sis-relay() { ${command}; }
        ${script}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _sis_relay; printf '%s\n' "\${COMPREPLY[@]}"`,
      ].concat('bash', 'sis-relay', words),
      { cwd: root, encoding: 'utf8', env: { ...process.env, ASKED, ANSWER } },
    );
    expect(stderr).toBe('');
    return stdout
      .split('\n')
      .filter((word) => word !== '')
      .sort();
  };

  test.each<[string[], string[]]>([
    [['le'], ['letters']],
    [['letters', 'ex'], ['export']],
    [
      ['--stage', 'prod', 'letters', 're'],
      ['reindex', 'replay'],
    ],
    [['letters', 'list', '--ki'], ['--kind']],
    [
      ['letters', 'list', '--sta'],
      ['--stack', '--stage', '--status'],
    ],
    [
      ['letters', 'groups', '--kind', 're'],
      ['redriven', 'rejected'],
    ],
    [['letters', 'replay', '--function', 'org'], ['org-unit-move']],
    [
      ['publish', '--format', ''],
      ['csv', 'json', 'jsonl'],
    ],
    [['publish', 'events/org'], ['events/org-unit-move.json']],
    [['letters', 'export', '--to', 'LIC'], ['LICENSE']],
    [['scopes', 'conn'], ['connection-check']],
    [['completion', 'b'], ['bash']],
    [['help', 'letters', 'imp'], ['import']],
    [['letters', 'list', '--stage', ''], []],
  ])('completes %j', async (words, expected) => {
    expect(await completed(words)).toEqual(expected);
  });

  test('offers to a command what it takes, and no more', async () => {
    const words = await completed(['letters', 'show', '--'], inItsProcess);
    expect(words).toEqual(expect.arrayContaining(['--reveal', '--local', '--json', '--help']));
    expect(words).not.toContain('--kind');
  });
});

test.each(['zsh', 'fish'])('%s has a script that asks the program', async (shell) => {
  const { script } = documentIn<{ script: string[] }>((await typed(`completion ${shell} --json`)).out);
  expect(script.join('\n')).toContain('sis-relay complete -- ');
});

test('what a word means stands behind it, for the shells that show it', async () => {
  const { out } = await typed('complete -- letters ex');
  expect(out).toMatch(/^export {2}\w.+\n$/);
  expect((await typed('complete -- letters list --ki')).out).toMatch(/^--kind {2}\w.+\n$/);
});
