import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve, sep } from 'node:path';
import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { integrationNames } from '../../../../lib/stage/function-names.ts';
import { loadIntegrations } from '../../../../lib/stage/integrations.ts';
import { temporaryFolder } from '../../../temporary-folder.ts';

const root = resolve(import.meta.dirname, '../../../..');
const project = temporaryFolder();
const [kept, temporary] = [join(project, '.cache'), join(project, 'tmp')];
const statusFile = 'lib/desk/cli/commands/messages.ts';

beforeAll(() => {
  for (const part of ['lib', 'functions', 'package.json'])
    cpSync(join(root, part), join(project, part), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'), 'junction');
});
beforeEach(() => {
  rmSync(kept, { recursive: true, force: true });
  mkdirSync(temporary, { recursive: true });
});

type Start = { hook?: string; uid?: number };
const argumentsOf = (line: string, { hook = '' }: Start = {}): string[] => [
  '--import',
  `data:text/javascript,${encodeURIComponent(hook)}`,
  join(project, 'lib/desk/cli/sis-relay.js'),
  ...line.split(' '),
];
// The tests' own environment may turn the folder off, or name another.
const { NODE_COMPILE_CACHE: _, NODE_DISABLE_COMPILE_CACHE: __, ...inherited } = process.env;
const env = { ...inherited, TMPDIR: temporary, SIS_RELAY_STAGE: '', DEAD_LETTER_QUEUE_URL: '' };
const sisRelay = (line: string, start?: Start) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, argumentsOf(line, start), {
    encoding: 'utf8',
    env,
    cwd: project,
    ...(start?.uid !== undefined && { uid: start.uid, gid: start.uid }),
  });
  return { status, out: stdout, err: stderr };
};

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((file) => statSync(file).isFile());
/** Until the test ends. */
const change = (path: string, from: string, to: string): void => {
  const file = join(project, path);
  const text = readFileSync(file, 'utf8');
  expect(text).toContain(from);
  writeFileSync(file, text.replace(from, to));
  onTestFinished(() => cpSync(join(root, path), file));
};
const description = 'queues, what waits and why';
const changed = 'QUEUES, what waits and why';

/** Each starts the command in several processes of its own. */
const isLong = { tags: ['long'] };

describe('what is kept of the sources', () => {
  test('is in the checkout and nowhere else', isLong, () => {
    expect(sisRelay('status --help')).toMatchObject({ status: 0, out: expect.stringContaining(description) });
    expect(filesIn(kept).length).toBeGreaterThan(10);
    expect(filesIn(temporary)).toEqual([]);
  });

  test('is never older than they are, also where neither time nor size tells', () => {
    sisRelay('status --help');
    const file = join(project, statusFile);
    const { atime, mtime, size } = statSync(file);
    change(statusFile, description, changed);
    utimesSync(file, atime, mtime);
    expect(statSync(file)).toMatchObject({ mtime, size });
    expect(sisRelay('status --help').out).toContain(changed);
    change(statusFile, changed, description);
    expect(sisRelay('status --help').out).toContain(description);
  });
});

describe('in a checkout that cannot be written', () => {
  const seesChange = (start?: Start): void => {
    change(statusFile, description, changed);
    const { status, out, err } = sisRelay('status --help', start);
    expect({ status, err }).toEqual({ status: 0, err: '' });
    expect(out).toContain(changed);
  };

  test('a change is seen, and nothing is said', isLong, () => {
    writeFileSync(kept, 'no folder can be made here');
    expect(sisRelay('status --help').out).toContain(description);
    seesChange();
  });

  // Root can write everywhere, and needs a user who cannot; whom the folders above this one may keep out.
  const isRoot = process.getuid?.() === 0;
  const above = project.split(sep).map((_, at, names) => join(sep, ...names.slice(0, at)));
  const isReached = above.every((folder) => (statSync(folder).mode & 0o001) !== 0);
  test.skipIf(process.platform === 'win32' || (isRoot && !isReached))(
    'because it is another user’s, a change is seen',
    isLong,
    () => {
      sisRelay('status --help');
      const folders = [project, kept, ...readdirSync(kept).map((name) => join(kept, name))];
      for (const folder of folders) chmodSync(folder, 0o555);
      try {
        seesChange(isRoot ? { uid: 65_534 } : {});
      } finally {
        for (const folder of folders) chmodSync(folder, 0o755);
      }
    },
  );
});

/** What a command loads, by a line on standard error each. */
const tellingLoads = `
  import { registerHooks } from 'node:module';
  import { writeSync } from 'node:fs';
  registerHooks({ load: (url, context, next) => { writeSync(2, url + '\\n'); return next(url, context); } });`;

const loadedBy = (line: string) => {
  const { status, err } = sisRelay(line, { hook: tellingLoads });
  return { status, urls: err.match(/^(?:node|file):.*$/gm) ?? [] };
};
const packagesOf = (urls: string[]): string[] =>
  [...new Set(urls.flatMap((url) => /\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url)?.[1] ?? []))].sort();

describe('a command loads what it needs:', () => {
  const loadsDeclarationsAlone = (line: string): void => {
    const { urls } = loadedBy(line);
    expect(packagesOf(urls)).toEqual(['commander', 'fastest-levenshtein']);
    // As a module it evaluates all that it exports, such as Node's undici.
    expect(urls).not.toContain('node:http');
    expect(urls.filter((url) => /\/(?:actions|functions)\//.test(url))).toEqual([]);
  };
  test('letters list --help no more than declarations', () => loadsDeclarationsAlone('letters list --help'));
  test.each(['--version', '--help', 'letters list --nope', 'completion bash'])(
    '%s no more than declarations',
    isLong,
    loadsDeclarationsAlone,
  );

  test('letters list neither functions nor clients that others need, and of no stage it ends with status 2', () => {
    const { status, urls } = loadedBy('letters list');
    expect(status).toBe(2);
    expect(urls.filter((url) => url.includes('/actions/'))).toEqual([
      expect.stringContaining('letters/lists.ts'),
    ]);
    expect(packagesOf(urls)).toContain('zod');
    expect(
      packagesOf(urls).filter((name) => /^(?:@aws-sdk\/client-|hono|csv-parse|yauzl)/.test(name)),
    ).toEqual([]);
    expect(urls.filter((url) => url.includes('/functions/'))).toEqual([]);
  });

  test('check-message the function that a message is for, and no other', () => {
    const { status, urls } = loadedBy(`check-message ${join(root, 'events/grade-push.json')}`);
    expect(status).toBe(0);
    expect(urls.filter((url) => url.includes('/functions/'))).toEqual([
      expect.stringContaining('grade-push.ts'),
    ]);
    // The function's own file brings the client that it needs first.
    expect(
      packagesOf(urls).filter((name) => /^(?:@aws-sdk\/client-|hono|csv-parse|yauzl)/.test(name)),
    ).toEqual(['@aws-sdk/client-secrets-manager']);
  });
});

test('functions that have an integration are known without loading them', async () => {
  expect(integrationNames()).toEqual([...(await loadIntegrations()).keys()]);
});
