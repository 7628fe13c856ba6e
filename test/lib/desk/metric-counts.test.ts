import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readDone, readUnanswered } from '../../../lib/desk/stage-state/metric-counts.ts';
import { safe } from '../../../lib/message/safe-text.ts';
import { createObserve } from '../../../lib/runtime/telemetry/observe.ts';
import { localClient } from '../../local/aws/aws.ts';
import { temporaryFolder } from '../../temporary-folder.ts';
import { never } from './cli/office.ts';

const asked: string[] = [];
const atMs = 1_795_000_500_000;
const server = createServer(async (request, response) => {
  asked.push(await text(request));
  response.setHeader('content-type', 'application/x-amz-json-1.0');
  const results = [{ Id: 'm0', StatusCode: 'Complete', Timestamps: [atMs / 1000], Values: [12] }];
  response.end(JSON.stringify({ MetricDataResults: results }));
});
beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
afterAll(() => void server.close());
const query = { functions: ['grade-push'], sinceMs: Date.now() - 3_600_000, signal: never };

test('what was done at once is counted by the metrics that functions write, and by nothing else', async () => {
  const file = join(temporaryFolder(), 'functions.log');
  const lines: string[] = [];
  const write = (line: string) => void lines.push(`grade-push ${line}`);
  const observe = createObserve({ function: 'grade-push', level: 'info', namespace: 'n', write });
  const report = { attempts: 1, replays: 0, durationMs: 5, platformMs: 3, requests: 2, status: 200 } as const;
  observe.begin('an invocation');
  for (const id of [safe`one`, safe`two`]) observe.message({ ...report, messageId: id, outcome: 'done' });
  observe.message({ ...report, messageId: safe`three`, outcome: 'waiting', kind: 'unavailable' });
  observe.flush();
  writeFileSync(file, `${lines.join('\n')}\nnot a line of ours\n`);
  const done = await readDone({ prefix: 'sis-relay-local-', functionLog: { file } }, query);
  expect(done?.reduce((sum, { count }) => sum + count, 0)).toBe(2);
  // Its one batch was answered in part.
  const unanswered = () => readUnanswered({ prefix: 'sis-relay-local-', functionLog: { file } }, query);
  expect(await unanswered()).toEqual([]);
  observe.begin('another invocation');
  observe.message({ ...report, messageId: safe`three`, outcome: 'waiting', kind: 'unavailable' });
  observe.flush();
  writeFileSync(file, `${lines.join('\n')}\n`);
  expect(await unanswered()).toEqual([{ function: 'grade-push', atMs: expect.any(Number), count: 1 }]);
});

test('of a log that cannot be read, and without one, it is not known', async () => {
  for (const functionLog of [undefined, { file: '/nowhere/functions.log' }])
    expect(await readDone({ prefix: 'sis-relay-local-', functionLog }, query)).toBeUndefined();
});

test('on AWS, the metrics of each function of the stage are asked for', async () => {
  const { port } = server.address() as AddressInfo;
  const functionLog = { client: localClient(`http://127.0.0.1:${port}`) };
  const done = await readDone({ prefix: 'sis-relay-prod-', functionLog }, query);
  expect(done).toEqual([{ function: 'grade-push', atMs, count: 12 }]);
  const [{ MetricStat = undefined } = {}] = JSON.parse(asked[0] ?? '{}').MetricDataQueries ?? [];
  expect(MetricStat).toMatchObject({
    Metric: {
      Namespace: 'sis-relay/prod',
      MetricName: 'Messages',
      Dimensions: [
        { Name: 'function', Value: 'grade-push' },
        { Name: 'outcome', Value: 'done' },
        { Name: 'kind', Value: 'none' },
      ],
    },
  });
});
