import { beforeAll, describe, expect, test } from 'vitest';
import { dispositions, type FailureKind } from '../lib/message/failure.ts';
import { parseMessage } from '../lib/message/message.ts';
import { failureOf } from '../lib/platform/client/failure-of.ts';
import type { Operation } from '../lib/platform/client/operation.ts';
import { integrationStage, type Part, patternOf } from './integration-stage.ts';
import { parts } from './integrations.ts';
import type { Effect, PlatformState } from './local/controls.ts';

/** What all integrations have in common: a new one is in it by its example. */
const stage = integrationStage();

const isRepeatable = async (part: Part): Promise<boolean> => {
  const { repeatable } = part.integration;
  if (typeof repeatable === 'boolean') return repeatable;
  return repeatable(parseMessage(await stage.bodyOf(part), part.integration, Date.now()).data);
};
const isChange = ({ method }: { method: string }) => method !== 'GET';

/** After each of these an operator may have a letter to discard. */
const letterCauses: { cause: string; fault: Effect; tags?: string[] }[] = [
  { cause: 'a change whose answer was lost', fault: { status: 503, when: 'after' } },
  { cause: 'a refusal', fault: { status: 400, body: { Errors: [{ Message: 'Closed' }] } }, tags: ['long'] },
  { cause: 'an outage', fault: { status: 503 }, tags: ['long'] },
];

/**
 * An answer to a call: the kind of failure if the call may be sent twice; for another one it is `certain`, or leaves the outcome
 * unknown. Each kind leads to one end, whatever the answer was: test/lib/platform tests which answers are of a kind.
 */
type CallAnswer = { title: string; effect: Effect; kind: FailureKind; certain?: boolean };
const noUser = { title: 'Resource Not Found', status: 404, detail: 'User not found' };
const noScope = {
  title: 'Not Authorized',
  status: 403,
  detail: 'Insufficient scope to call API. Required: a:b:c',
};
const callAnswers: CallAnswer[] = [
  {
    title: 'a page',
    effect: { status: 200, headers: { 'content-type': 'text/html' }, body: '<html><p>Sign in</p></html>' },
    kind: 'intercepted',
  },
  {
    title: 'another shape',
    effect: { status: 200, body: { Unexpected: [true] }, when: 'after' },
    kind: 'unexpected-answer',
  },
  { title: 'half an answer', effect: { truncate: true }, kind: 'unavailable' },
  { title: 'an outage', effect: { status: 500 }, kind: 'unavailable' },
  { title: 'nothing there', effect: { status: 404, body: noUser }, kind: 'rejected', certain: true },
  { title: 'too many calls', effect: { status: 429 }, kind: 'throttled', certain: true },
  { title: 'a missing scope', effect: { status: 403, body: noScope }, kind: 'missing-scope', certain: true },
];
/** The platform shows that it was done. */
const shown = { 'another shape': 'done' };
/** It was taken, so whatever comes of the look-up, it is looked up again, and found. */
const found = Object.fromEntries(callAnswers.map(({ title }) => [title, 'waiting uncertain, done']));
/** Calls that are more to their message than their operation tells: the ends by the answers. */
const otherEnds: Record<string, Record<string, string>> = {
  'grade-push set-grade-value': shown,
  'enrollment-create create-enrollment': shown,
  'enrollment-remove delete-enrollment': shown,
  'grade-object-create update-dropbox-folder': shown,
  'submission-upload read-my-submissions': found,
  // There is nothing to remove.
  'org-unit-move remove-parent': { 'nothing there': 'done' },
};
/** What a person is asked to look for if nothing can be read back. */
const sought: Record<string, string> = {
  'content-topic-update': "a topic with this message's title in module 8001 of org unit 2001",
  'news-item-create': "a news item with this message's title in org unit 2001",
  'user-attributes-update': "a demographics field with this message's name",
};

const endOf = ({ integration }: Part, operation: Operation<unknown>, answer: CallAnswer): string => {
  const other = otherEnds[`${integration.name} ${operation.name}`]?.[answer.title];
  if (other !== undefined) return other;
  if (!operation.repeatable && !answer.certain)
    return `waiting uncertain, ${integration.verify?.look ? 'done' : 'parked uncertain'}`;
  return dispositions[answer.kind] === 'wait' ? `waiting ${answer.kind}, done` : `parked ${answer.kind}`;
};

/** What it makes of the platform, and by which calls that may change something. */
const played = new Map<
  Part,
  { whole: PlatformState; called: Operation<unknown>[]; changes: Operation<unknown>[] }
>();
let untouched: PlatformState;
beforeAll(async () => {
  for (const part of parts) {
    await stage.reset();
    untouched = await stage.state();
    const { state: whole, requests } = await stage.deliver(part);
    const called = stage.calledIn(part, requests);
    played.set(part, { whole, called, changes: called.filter(isChange) });
  }
});
const playOf = (part: Part) => played.get(part)!;

test.each([...new Set(parts.map(({ integration }) => integration))])(
  '$name makes each of its changes by its example, or by a variant in test/integrations.ts',
  (integration) => {
    const all = parts.filter((part) => part.integration === integration);
    const made = all.flatMap((part) => playOf(part).changes);
    for (const part of all) expect(playOf(part).whole).not.toEqual(untouched);
    expect(
      integration.operations.filter((operation) => isChange(operation) && !made.includes(operation)),
    ).toEqual([]);
  },
);

describe.each(parts)('$title', (part) => {
  test('is done once, however often its message comes', async () => {
    const body = await stage.bodyOf(part);
    const done = await stage.deliver(part, { body });
    expect(done).toMatchObject({ story: ['done'], letters: [] });
    for (const _ of ['in its container', 'in another']) {
      const copy = await stage.deliver(part, { body });
      expect(copy).toMatchObject({ story: ['duplicate'], letters: [], state: done.state });
      expect(copy.requests.filter(isChange)).toEqual([]);
      stage.inAnotherContainer();
    }
  });

  test('does not put an older message over a newer one, nor leave out an older one that adds', async () => {
    const older = await stage.bodyOf(part);
    const { state } = await stage.deliver(part);
    const late = await stage.deliver(part, { body: older });
    const isOrdered = await isRepeatable(part);
    expect(late).toMatchObject({ story: [isOrdered ? 'superseded' : 'done'], letters: [] });
    if (isOrdered) expect(late.state).toEqual(state);
  });

  test('is parked with a field that it does not know, and sends nothing', async () => {
    const event = JSON.parse(await stage.bodyOf(part));
    const body = JSON.stringify({ ...event, data: { ...event.data, weight: 2 } });
    const { story, letters, requests } = await stage.deliver(part, { body });
    expect({ story, requests }).toEqual({ story: ['parked invalid'], requests: [] });
    expect(letters).toMatchObject([
      {
        body,
        failure: {
          function: part.integration.name,
          message: expect.stringContaining('data.weight: is not a known field'),
          remedy: expect.stringContaining('Have the producer correct the message'),
        },
      },
    ]);
  });

  test('names the field whose value is of another type, and takes no id that is none or would alter a path', async () => {
    const event = JSON.parse(await stage.bodyOf(part));
    const problemOf = (name: string, value: unknown): string => {
      try {
        const data = { ...event.data, [name]: value };
        parseMessage(JSON.stringify({ ...event, data }), part.integration, Date.now());
        return 'none';
      } catch (error) {
        return failureOf(error).message;
      }
    };
    for (const [name, value] of Object.entries(event.data)) {
      const others = typeof value === 'object' ? [7, 'x'] : [{}, ['x']];
      const ids = name.endsWith('Id') ? ['7', '../2002', 0, -7, 7.5, 2 ** 60, null] : [];
      for (const other of [...others, ...ids])
        expect([other, problemOf(name, other)]).toEqual([other, expect.stringContaining(`data.${name}: `)]);
    }
  });

  test('is refused to a role without permissions: parked, with the one that it lacks', async () => {
    const roles = (await stage.controls().state('roles')).roles ?? [];
    await stage.controls().seed({ roles: roles.map((role) => ({ ...role, permissions: [] })) });
    const { story, letters, requests } = await stage.deliver(part);
    expect(story).toEqual(['parked missing-permission']);
    expect(requests.at(-1)).toMatchObject({ status: 403 });
    const [{ failure } = { failure: null }] = letters;
    expect(failure?.required).toMatch(/^[A-Z][A-Za-z]+$/);
    expect(failure?.remedy).toContain(`the permission ${failure?.required}`);
  });

  test.each(callAnswers)('ends as it must, if a call of it is answered with $title', async (answer) => {
    const { whole, called } = playOf(part);
    expect(called).not.toEqual([]);
    for (const operation of called) {
      await stage.reset();
      const { name, method } = operation;
      const end = endOf(part, operation, answer);
      // That nothing is there is true after the removal.
      const effect = end === 'done' ? { ...answer.effect, when: 'after' as const } : answer.effect;
      await stage.controls().fault(effect, { method, path: patternOf(operation).source });
      const { story, letters, state } = await stage.deliver(part);
      expect([name, story.join(', ')]).toEqual([name, end]);
      const isDone = story.at(-1) === 'done';
      // None is done without its effect, nor with two.
      if (isDone) expect([name, state]).toEqual([name, whole]);
      expect([name, letters.length]).toEqual([name, isDone ? 0 : 1]);
      const { kind, status, remedy } = letters[0]?.failure ?? {};
      if (kind === 'uncertain')
        expect(remedy).toMatch(
          new RegExp(
            `^On the platform, look for ${sought[part.integration.name]} since .* If there is none, replay this letter`,
          ),
        );
      else if (!isDone)
        expect([name, status, remedy]).toEqual([
          name,
          'status' in effect ? effect.status : undefined,
          expect.stringMatching(/replay|discard/i),
        ]);
    }
  });

  describe.each(letterCauses)('whose letter came of $cause', ({ fault, tags = [] }) => {
    test('is done or a letter again, once, if that is discarded and the SIS sends it again', {
      tags,
    }, async () => {
      const { whole, changes } = playOf(part);
      const isHarmless = await isRepeatable(part);
      for (const operation of changes) {
        await stage.reset();
        const path = patternOf(operation).source;
        await stage.controls().fault(fault, { method: operation.method, path, times: 100 });
        const body = await stage.bodyOf(part);
        const first = await stage.deliver(part, { body, hasWaited: true });
        await stage.controls().clearFaults();
        const before = [operation.name, ...first.story];
        if (first.letters.length === 0) continue;
        stage.inAnotherContainer();
        const { story, letters, state } = await stage.deliver(part, { body });
        const isAgain = !isHarmless && story.at(-1) === 'parked uncertain' && letters.length === 1;
        if (!isAgain) expect([...before, story.at(-1), letters]).toEqual([...before, 'done', []]);
        if (!isAgain) expect(state).toEqual(whole);
      }
    });
  });

  describe.each([
    { moment: 'after' as const, tags: [] },
    { moment: 'before' as const, tags: ['long'] },
  ])('whose container dies $moment a change', ({ moment, tags }) => {
    test('is not done twice, nor lost', { tags }, async () => {
      const { whole, changes } = playOf(part);
      for (const operation of changes) {
        await stage.reset();
        const { story, letters, state } = await stage.deliver(part, { death: { moment, operation } });
        const isKnown = (await isRepeatable(part)) || part.integration.verify?.look !== undefined;
        expect([operation.name, story]).toEqual([
          operation.name,
          ['death', isKnown ? 'done' : 'parked uncertain'],
        ]);
        if (isKnown) expect([letters, state]).toEqual([[], whole]);
        else
          expect(letters).toMatchObject([
            { failure: { remedy: expect.stringMatching(/If (?:there is none|not), replay/) } },
          ]);
      }
    });
  });
});
