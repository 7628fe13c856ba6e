import { beforeAll, describe, expect, test } from 'vitest';
import { failureOf } from '../lib/failure.ts';
import { parseMessage } from '../lib/message.ts';
import type { Operation } from '../lib/platform/core/operation.ts';
import { answers } from './answers/answers.ts';
import { expectEnds } from './answers/ends.ts';
import { integrationStage, type Part, patternOf } from './answers/stage.ts';
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

/** What most often comes in the place of an answer; `npm run test-long` has all that may. */
const usual = answers.filter(({ title }) =>
  ['429', '503', '200 with a page', '403 that names a scope', 'an end of the connection'].includes(title),
);

/** After each of these an operator may have a letter to discard: nothing was done, it was, or nobody knows. */
const refusal: Effect = { status: 400, body: { Errors: [{ Message: 'Closed' }] } };
const lostAnswer: Effect = { status: 503, when: 'after' };
const outage: Effect = { status: 503 };
const letterCauses = [refusal, lostAnswer, outage];

/** What it makes of the platform, and by which calls that may change something. */
const played = new Map<Part, { whole: PlatformState; changes: Operation<unknown>[] }>();
let untouched: PlatformState;
beforeAll(async () => {
  for (const part of parts) {
    await stage.reset();
    untouched = await stage.state();
    const { state: whole, requests } = await stage.deliver(part);
    played.set(part, { whole, changes: stage.calledIn(part, requests).filter(isChange) });
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
          remedy: expect.stringContaining('Correct the message at its producer'),
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

  test('ends as it must, whatever answers its changes', async () => {
    const { whole, changes } = playOf(part);
    for (const operation of changes) await expectEnds(stage, part, { operation, by: usual, whole });
  });

  test('is done or a letter again, once, where its letter is discarded and the SIS sends it again', async () => {
    const { whole, changes } = playOf(part);
    const isHarmless = await isRepeatable(part);
    for (const operation of changes)
      for (const fault of letterCauses) {
        await stage.reset();
        const path = patternOf(operation).source;
        await stage.controls().fault(fault, { method: operation.method, path, times: 100 });
        const body = await stage.bodyOf(part);
        const first = await stage.deliver(part, { body, hasWaited: true });
        await stage.controls().clearFaults();
        const before = [operation.name, fault, ...first.story];
        if (first.letters.length === 0) continue;
        if (fault === outage) stage.inAnotherContainer();
        const { story, letters, state } = await stage.deliver(part, { body });
        const isAgain = !isHarmless && story.at(-1) === 'parked uncertain' && letters.length === 1;
        if (!isAgain) expect([...before, story.at(-1), letters]).toEqual([...before, 'done', []]);
        if (!isAgain) expect(state).toEqual(whole);
      }
  });

  test('is not done twice, nor lost, where its container dies before or after a change', async () => {
    const { whole, changes } = playOf(part);
    for (const operation of changes)
      for (const moment of ['before', 'after'] as const) {
        await stage.reset();
        const { story, letters, state } = await stage.deliver(part, { death: { moment, operation } });
        const isKnown = (await isRepeatable(part)) || part.integration.verify?.look !== undefined;
        expect([operation.name, moment, story]).toEqual([
          ...[operation.name, moment],
          ['death', isKnown ? 'done' : 'parked uncertain'],
        ]);
        if (isKnown) expect([letters, state]).toEqual([[], whole]);
        else
          expect(letters).toMatchObject([{ failure: { remedy: expect.stringMatching(/Replay only if/) } }]);
      }
  });
});
