import { beforeAll, describe, expect, test } from 'vitest';
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
