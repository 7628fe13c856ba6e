// @module-tag long
import { afterAll, beforeAll, expect, test } from 'vitest';
import { maxMessageBytes } from '../../lib/message/sqs-limits.ts';
import { loadIntegrations } from '../../lib/stage/integrations.ts';
import { useOf } from '../peak-memory.ts';
import { example, recordOf } from './examples.ts';
import { type Stack, startStack } from './stack.ts';

/** That of serverless.yml. */
const timeoutMs = 120_000;

const integrations = await loadIntegrations();
const names = [...integrations.keys()];
let stack: Stack;
let lines: string[] = [];

beforeAll(async () => {
  stack = await startStack({
    functions: [],
    containersPerFunction: 1,
    functionTimeoutMs: timeoutMs,
    settings: { LOG_LEVEL: 'debug', ATTEMPT_TIMEOUT_MS: '40000' },
    onLog: (_, line) => lines.push(line),
  });
});
afterAll(async () => {
  await stack?.close();
});

/** As often as the largest message has room for. */
const filled = (part: string, left = maxMessageBytes - 20_000): string =>
  part.repeat(Math.floor(left / Buffer.byteLength(part)));
const numbered = (count: number, part: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => part(at)).join(',');

/** Texts as JSON writes them. */
const spellings: Record<string, string> = {
  letters: filled('a'),
  spaces: filled(' '),
  digits: filled('9'),
  escapes: filled('\\u0001'),
  backslashes: filled('\\\\'),
  quotes: filled('\\"'),
  tags: filled('<a '),
  'signs of three bytes': filled('€'),
  'characters of two': filled('\\ud83d\\ude00'),
};

/** Whatever others may write into a value. */
const values = (forbidden: string): Record<string, string> => ({
  ...Object.fromEntries(Object.entries(spellings).map(([name, text]) => [name, `"${text}"`])),
  'empty lists': `[${filled('[],').slice(0, -1)}]`,
  'empty objects': `[${filled('{},').slice(0, -1)}]`,
  'as many lists as are read': `[${numbered(9, () => `[${numbered(999, () => `"${'a'.repeat(100)}"`)}]`)}]`,
  'as many names as are read': `{${numbered(9, (at) => `"${at}":{${numbered(999, (each) => `"k${each}":"${'\\n'.repeat(40)}"`)}}`)}}`,
  'names with escapes': `{${numbered(900, (at) => `"\\u0061${at}${'\\\\'.repeat(500)}":0`)}}`,
  'one name again and again': `{${numbered(9_000, () => `"${forbidden}":"${'s'.repeat(90)}"`)}}`,
  'one name with a list': `{${numbered(900, (at) => `"${forbidden}":["${at}${'s'.repeat(900)}"]`)}}`,
  'depth as far as it is read': `${'['.repeat(58)}"${filled('a', 900_000)}"${']'.repeat(58)}`,
  depth: `${filled('[', 500_000)}${filled(']', 500_000)}`,
  numbers: `[${numbered(900, () => '9'.repeat(1_000))}]`,
  'text in text': textInText(forbidden),
  'base64 in base64': base64In(forbidden),
});

function textInText(forbidden: string): string {
  let text = JSON.stringify({ [forbidden]: 's' });
  for (let next = text; next.length < 900_000; next = JSON.stringify({ data: text })) text = next;
  return JSON.stringify(text).length < maxMessageBytes ? JSON.stringify(text) : text;
}

function base64In(forbidden: string): string {
  let text = JSON.stringify({ [forbidden]: filled('s', 2_000) });
  for (let next = text; next.length < 900_000; )
    [text, next] = [next, JSON.stringify({ data_base64: Buffer.from(next).toString('base64') })];
  return text;
}

const object = (key: string) => ({
  eventSource: 'aws:s3',
  eventName: 'ObjectCreated:Put',
  s3: { bucket: { name: 'b' }, object: { key } },
});

/** Each as large as a queue takes it, or the most of it that is read. */
function dearest(name: string, valid: string): Record<string, string> {
  const event = JSON.parse(valid);
  const forbidden = integrations.get(name)?.forbidden?.[0] ?? 'password';
  const bodies: Record<string, string> = {};
  for (const [what, value] of Object.entries(values(forbidden))) {
    bodies[`${what}, beside the data`] = `${valid.slice(0, -1)},"extension":${value}}`;
    bodies[`${what}, in the data`] = valid.replace('"data":{', () => `"data":{"extension":${value},`);
    bodies[`${what}, alone`] = value;
  }
  for (const field of [...Object.keys(event.data), 'id', 'source', 'sequence', 'datacontenttype', 'time'])
    for (const [what, text] of Object.entries(spellings)) {
      const changed =
        field in event.data
          ? { ...event, data: { ...event.data, [field]: '\u0000' } }
          : { ...event, [field]: '\u0000' };
      bodies[`${what} as ${field}`] = JSON.stringify(changed).replace('\\u0000', () => text);
    }
  bodies['a notice of many files'] = JSON.stringify({
    Records: Array.from({ length: 900 }, (_, at) => object(`events/${name}/${at}${'%20'.repeat(200)}`)),
  });
  bodies['a notification of SNS'] = JSON.stringify({
    Type: 'Notification',
    MessageId: 'm',
    TopicArn: 't',
    Message: `${valid.slice(0, -1)},"extension":"${filled('\\n', 300_000)}"}`,
  });
  bodies['cut off'] = bodies['quotes, beside the data']?.slice(0, -9) ?? '';
  bodies['names and no JSON'] = filled(`${forbidden}: '`);
  return bodies;
}

const outcomeOf = (messageId: string): string | undefined =>
  lines
    .filter((line) => line.includes(messageId))
    .flatMap((line) => /"message":"message (\w+)"|"outcome":"(\w+)"/.exec(line)?.slice(1) ?? [])
    .find((outcome) => outcome !== undefined);

test.skipIf(process.platform !== 'linux').each(names)(
  'whatever SQS carries to %s costs a tenth of its time at most and less than its memory, and the message beside it is done',
  async (name) => {
    const valid = await example(name);
    const { id, time } = JSON.parse(valid);
    let seconds = 0;
    /** With an id of its own, and later than all before. */
    const anew = (body: string) => {
      seconds += 1;
      const later = new Date(Date.parse(time) + 1_000 * seconds).toISOString();
      return body.replace(`"${id}"`, `"${name} ${seconds}"`).replace(time, later);
    };
    const invoke = (...records: object[]) => stack.lambda?.invoke(name, { Records: records });
    expect(await invoke(recordOf(name, anew(valid)))).toMatchObject({ ok: true });
    const [{ pid } = { pid: 0 }] = stack.lambda?.containers(name) ?? [];
    const bodies = Object.entries(dearest(name, valid));
    for (const [what, body] of bodies) {
      expect(Buffer.byteLength(body), what).toBeLessThanOrEqual(maxMessageBytes);
      lines = [];
      const beside = recordOf(name, anew(valid));
      const record = recordOf(name, anew(body));
      const sinceMs = useOf(pid).cpuMs;
      const answer = await invoke(record, beside);
      expect(answer, what).toEqual({ ok: true, payload: { batchItemFailures: [] } });
      expect(outcomeOf(beside.messageId), `beside ${what}`).toBe('done');
      expect(outcomeOf(record.messageId), what).toMatch(/^(done|parked|duplicate)$/);
      expect(useOf(pid).cpuMs - sinceMs, what).toBeLessThan(timeoutMs / 10);
    }
    // The same process: none has died of its memory.
    expect(stack.lambda?.containers(name)).toMatchObject([{ pid }]);
  },
  300_000,
);

test.skipIf(process.platform !== 'linux')(
  'a batch of messages that are not large enough to go alone is within the memory, and the message beside them is done',
  async () => {
    const name = 'lti-link-update';
    const valid = await example(name);
    const { id, data } = JSON.parse(valid);
    const wide = `{${numbered(9, (at) => `"${at}":{${numbered(900, (each) => `"k${each}":"\\n"`)}}`)}}`;
    const bodies = [
      `${valid.slice(0, -1)},"extension":${wide}}`,
      valid.replace('"data":{', `"data":{"extension":${wide},`),
      wide,
      `[${'[],'.repeat(9_000)}0]`,
      `"${'\\"'.repeat(60_000)}"`,
      JSON.stringify({ data: JSON.stringify(data) }),
    ];
    const records = Array.from({ length: 45 }, (_, at) =>
      recordOf(name, (bodies[at % bodies.length] ?? '').replace(`"${id}"`, `"medium ${at}"`)),
    );
    const beside = recordOf(name, valid.replace(`"${id}"`, '"beside"'));
    lines = [];
    const answer = await stack.lambda?.invoke(name, { Records: [...records, beside] });
    expect(answer).toMatchObject({ ok: true });
    expect(outcomeOf(beside.messageId)).toMatch(/^(done|superseded)$/);
  },
);
