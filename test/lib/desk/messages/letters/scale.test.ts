// @module-tag long
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { listIndex, shards } from '../../../../../lib/delivery/letters/record.ts';
import { countsOf } from '../../../../../lib/desk/messages/letters/queue.ts';
import { officesForTests } from '../../cli/office.ts';
import { openConsole } from '../../console/attacker.ts';

/** The proof `measure-letters` asks for 100,000. */
const letters = Number(process.env.SCALE_LETTERS ?? 1_000);

const offices = officesForTests();
const folder = mkdtempSync(join(tmpdir(), 'sis-relay-scale-'));
afterAll(() => rmSync(folder, { recursive: true }));
const bin = resolve(import.meta.dirname, '../../../../../lib/desk/cli/sis-relay.js');

const tellUse = `import { useOf } from '${new URL('../../../../peak-memory.ts', import.meta.url)}';
process.on('exit', () => process.stderr.write('use ' + JSON.stringify(useOf('self')) + '\\n'));`;

/** Of all that 100,000 letters are made of, so little may be in memory at once; a process that wants more dies. */
const heapMb = 128;
/** V8 counts the young objects' space as the old ones': a larger one fills the heap, and V8 then does little but collect garbage. */
const youngMb = heapMb / 16;

/** What no program can do without: Node, and the same pages of all records, parsed and counted by kind. */
const bareLimit = (dynamodb: string, table: string) => `
const counts = new Map();
const read = async (shard) => {
  for (let from; ; ) {
    const answer = await fetch('${dynamodb}', {
      method: 'POST',
      headers: {
        'content-type': 'application/x-amz-json-1.0',
        'x-amz-target': 'DynamoDB_20120810.Query',
        'x-amz-date': '20260101T000000Z',
        authorization: 'AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=none',
      },
      body: JSON.stringify({
        TableName: '${table}',
        IndexName: '${listIndex}',
        KeyConditionExpression: '#list = :list',
        ExpressionAttributeNames: { '#list': 'list' },
        ExpressionAttributeValues: { ':list': { S: 'letter.' + shard } },
        ExclusiveStartKey: from,
      }),
    });
    const { Items, LastEvaluatedKey } = await answer.json();
    for (const { kind } of Items) counts.set(kind.S, (counts.get(kind.S) ?? 0) + 1);
    if (LastEvaluatedKey === undefined) return;
    from = LastEvaluatedKey;
  }
};
await Promise.all(Array.from({ length: ${shards} }, (_, shard) => read(shard)));
console.log(JSON.stringify(Object.fromEntries(counts)));`;

/** A process of its own: its answer, how long it took, its CPU and that of the emulators meanwhile, and the most memory that it had. */
const measured = async (name: string, given: string[]) => {
  const heap = [`--max-old-space-size=${heapMb}`, `--max-semi-space-size=${youngMb}`];
  const use = ['--import', `data:text/javascript,${encodeURIComponent(tellUse)}`];
  const startedMs = performance.now();
  const before = process.cpuUsage();
  const child = spawn(process.execPath, [...heap, ...use, ...given]);
  let out = '';
  let err = '';
  child.stdout.on('data', (piece) => {
    out += piece;
  });
  child.stderr.on('data', (piece) => {
    err += piece;
  });
  const [status] = await once(child, 'close');
  const seconds = (performance.now() - startedMs) / 1000;
  const { user, system } = process.cpuUsage(before);
  const { cpuMs, peakBytes } = JSON.parse(/^use (.*)$/m.exec(err)?.[1] ?? '{}');
  const memoryMb = peakBytes / 2 ** 20;
  process.stdout.write(
    `${name}: ${(cpuMs / 1000).toFixed(2)} s of CPU beside ${((user + system) / 1e6).toFixed(1)} s of the emulators, ${seconds.toFixed(1)} s, ${memoryMb.toFixed(0)} MB\n`,
  );
  return { status, out, memoryMb };
};

test(`${letters.toLocaleString('en-US')} letters are listed, grouped and planned in little memory, and none is hidden`, async () => {
  const office = await offices.open();
  const file = join(folder, 'stack.json');
  writeFileSync(file, JSON.stringify(office.description()));
  const kinds = ['rejected', 'invalid', 'missing-scope', 'unavailable', 'throttled'] as const;
  for (let from = 0; from < letters; from += 1_000)
    await office.park(
      Array.from({ length: Math.min(1_000, letters - from) }, (_, at) => ({
        failure: { kind: kinds[at % 5]! },
      })),
      { list: false },
    );
  const relay = (command: string) => measured(command, [bin, ...command.split(' '), '--stack', file]);
  const made = await relay('letters reindex --json');
  expect(JSON.parse(made.out)).toMatchObject({ letters, added: letters, whole: true });

  const bare = ['--input-type=module', '--eval', bareLimit(offices.tables(), office.desk.table)];
  const limit = await measured('the bare limit of all records', bare);
  expect(JSON.parse(limit.out)).toMatchObject({ rejected: letters / 5, invalid: letters / 5 });
  const groups = await relay('letters groups --json');
  expect(groups.status).toBe(0);
  expect(JSON.parse(groups.out)).toMatchObject({ listed: letters, queued: letters, matching: letters });
  const list = await relay('letters list --kind rejected --json');
  expect(JSON.parse(list.out)).toMatchObject({ matching: letters / 5 });
  const person = await relay('letters list --user 302 --json');
  expect(JSON.parse(person.out)).toMatchObject({ matching: 0 });
  const one = await relay(`letters show ${JSON.parse(list.out).letters[0].id} --json`);
  expect(one.status).toBe(0);
  const plan = await relay('letters replay --dry-run --no-probe --json');
  expect(JSON.parse(plan.out).plan).toMatchObject({ matching: letters });
  const scan = await relay('letters reindex --json');
  expect(JSON.parse(scan.out)).toMatchObject({ letters, added: 0, removed: 0, whole: true });
  // The function that reads the whole queue on schedule has 512 MB.
  for (const { memoryMb } of [made, groups, list, person, one, plan, scan])
    expect(memoryMb).toBeLessThan(350);
  const served = await openConsole(office.target);
  const shown = async (what: string, path: string) => {
    const startedMs = performance.now();
    const { status, text } = await served.get(path);
    const ms = performance.now() - startedMs;
    process.stdout.write(`console, ${what}: ${ms.toFixed(0)} ms, ${(text.length / 1024).toFixed(0)} KB\n`);
    expect(status).toBe(200);
    return text;
  };
  const all = `of ${letters.toLocaleString('en-US')}`;
  const first = await shown('the first screen after its start', '/letters');
  if (!first.includes(all)) expect(await shown('the list', '/letters?whole=yes')).toContain(all);
  expect(await shown('the first screen', '/letters')).toContain(all);
  await shown('a kind', '/letters?kind=rejected');
  await shown('a person', '/letters?user=302');
  await shown('a text', '/letters?error=not+found');
  await shown('sorted by kind', '/letters?sort=kind');
  await shown('sorted by kind, page 500', '/letters?sort=kind&page=500');
  await shown('causes', '/causes');
  await shown('the overview', '/');
  await served.close();
  const sqs = await office.target.sqs();
  expect(await countsOf({ sqs, url: office.deadLetters.url })).toEqual({
    visible: letters,
    inFlight: 0,
    delayed: 0,
  });
}, 900_000);
