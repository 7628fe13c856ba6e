import { ownText, safe } from '../../lib/message/safe-text.ts';
import type { CallContext } from '../../lib/platform/client/call.ts';
import type { Platform, PlatformClient } from '../../lib/platform/client/client.ts';
import type { Operation } from '../../lib/platform/client/operation.ts';
import { PlatformError, type RefusedCall } from '../../lib/platform/client/platform-error.ts';
import type { CallInput } from '../../lib/platform/client/request.ts';
import { freeTurn, unpaced } from '../lib/platform/rate-limit/unpaced.ts';
import type { Copy } from './queue.ts';
import type { Actor, Stage } from './stage.ts';

/** Mostly a message's turn comes at once, and sometimes not in its invocation. */
const turnsAfterMs = [...Array.from({ length: 25 }, () => 0), 1_000, 20_000, 75_000];

/** Added to a message's number in what it sends: the platform refuses it. */
export const wrong = 1_000;

/** The parts of a resource, each with the number of the message that it comes from; below 0: from a person. */
export type Parts = Record<string, number>;

/** What acted on the platform, in its order: of which message, on which thing, and what of it that changed. */
export type Act = {
  thing: string;
  message: number;
  parts: Parts;
  atMs: number;
  askedMs: number;
  /** Those that the container had in hand: it may have acted for any of them. */
  copies: Copy[];
};

/** Of the grade object that a message creates: its id, and what is a thing of its own, a grade in it and its name. */
export const objectIdOf = (message: number): number => 100 + message;
export const gradeIn = (message: number): string => `the grade in ${message}`;
export const nameOf = (message: number): string => `the name of ${message}`;

/** In place of a message's number. */
export const byRestore = 0;

/** The platform as it is called for one message: the calls do not tell by themselves. */
export type TaggedPlatform = Platform & { as(message: number): Platform };

type Numbers = Record<string, number | undefined>;
type Options = {
  lookalike: boolean;
  /** An attempt's calls end so long after it began. */
  callMs: number;
  deadly(message: number): boolean;
  copiesOf(actor: Actor, message: number): Copy[];
};

/** Some folders show what was handed in so late: together with a late effect, within the minute that a platform is given. */
const lagMs = 500;

/** Whatever a message does has happened so long after its claim. */
const attemptAndGraceMs = 110_000;

/** The size that every file has. */
export const fileBytes = 5;

/** What a grade object has that no message gives. */
const unset = {
  ShortName: '',
  CategoryId: null,
  Description: { Text: '', Html: '' },
  GradeSchemeId: null,
  IsBonus: false,
  ExcludeFromFinalGradeCalculation: false,
  CanExceedMaxPoints: false,
};

/** A platform that keeps what it was told: a message's number is the grade, the comment, the role, or the folder. */
export function createPlatformModel(stage: Stage, options: Options) {
  const acts: Act[] = [];
  const refusals: number[] = [];
  const states = new Map<string, { parts: Parts; changedMs: number }>();
  /** By thing: what stood there before the last change. */
  const former = new Map<string, { parts: Parts; changedMs: number } | undefined>();
  /** By thing: what a cache shows until then. */
  const caches = new Map<
    string,
    { state: { parts: Parts; changedMs: number } | undefined; untilMs: number }
  >();
  const shownOf = (thing: string) => {
    const cached = caches.get(thing);
    return cached && cached.untilMs > stage.nowMs() ? cached.state : states.get(thing);
  };
  /** When a person changed a thing. */
  const changes: { thing: string; atMs: number }[] = [];

  const put = (thing: string, parts: Parts): void => {
    former.set(thing, states.get(thing));
    states.set(thing, {
      parts: { ...states.get(thing)?.parts, ...parts },
      changedMs: stage.nowMs(),
    });
  };
  const act = (parts: Parts, of: Omit<Act, 'parts' | 'atMs'>): void => {
    acts.push({ ...of, parts, atMs: stage.nowMs() });
    put(of.thing, parts);
  };
  const submissionsIn = (folder: number) => {
    const untilMs = stage.nowMs() - (folder % 2 === 0 ? lagMs : 0);
    const own = acts
      .filter(({ message, atMs }) => message === folder && atMs <= untilMs)
      .map(({ atMs }) => atMs);
    const name = options.lookalike ? 'renamed.pdf' : `${folder}.pdf`;
    const all = options.lookalike ? [...own, stage.nowMs()] : own;
    return all.map((atMs) => ({
      SubmissionDate: new Date(atMs).toISOString(),
      Files: [{ FileName: name, Size: fileBytes }],
    }));
  };

  /** What was asked about grade objects: a list is asked for by whoever creates. */
  const askedOfObjects: { name: string; message: number; atMs: number }[] = [];
  const objects = new Map<number, object>();
  const object = ({ gradeObjectId = 0 }: Numbers) => objects.get(gradeObjectId);
  const numberIn = (name: unknown): number => Number(String(name).split(' ')[1]);

  const gradeThing = ({ gradeObjectId = 0, userId }: Numbers): string =>
    gradeObjectId < objectIdOf(0) ? `${userId}` : gradeIn(gradeObjectId - objectIdOf(0));

  type HistoryCall = Omit<Act, 'thing' | 'parts' | 'atMs'> & { path: Numbers; json: Record<string, unknown> };
  const refusedWhere = (given: number): RefusedCall | undefined =>
    given >= wrong ? { status: 400, title: 'Bad Request' } : undefined;
  const textIn = (comment: unknown): number => Number((comment as { Content: string }).Content || 0);
  const textOut = (part = 0) => ({ Text: part === 0 ? '' : `${part}` });

  /** By operation: the refusal, if it is one. */
  const change: Record<string, (asked: HistoryCall) => RefusedCall | undefined> = {
    'create-enrollment': ({ json: { UserId, RoleId }, path: _, ...asked }) => {
      const refused = refusedWhere(Number(RoleId));
      if (!refused) act({ whole: asked.message }, { thing: `${UserId}`, ...asked });
      return refused;
    },
    'delete-enrollment': ({ path: { userId }, json: _, ...asked }) => {
      act({ whole: asked.message }, { thing: `${userId}`, ...asked });
      return undefined;
    },
    'set-grade-value': ({ path, json, ...asked }) => {
      const { PointsNumerator, Comments, PrivateComments } = json;
      const refused = refusedWhere(Number(PointsNumerator));
      const [comments, privateComments] = [textIn(Comments), textIn(PrivateComments)];
      const parts = { grade: Number(PointsNumerator), comments, privateComments };
      if (!refused) act(parts, { thing: gradeThing(path), ...asked });
      return refused;
    },
    'read-grade-value': ({ path }) =>
      shownOf(gradeThing(path)) ? undefined : { status: 404, form: 'error', detail: 'Grade value not found' },
    'create-grade-object': ({ json, path: _, ...asked }) => {
      const refused = refusedWhere(numberIn(json.Name));
      if (refused) return refused;
      const { message } = asked;
      act({ whole: message }, { thing: `${message}`, ...asked });
      // A second one is told from the first by the judge: the platform's ids are not what this is about.
      objects.set(objectIdOf(message), { ...unset, ...json, Id: objectIdOf(message) });
      return undefined;
    },
    'update-grade-object': ({ path: { gradeObjectId = 0 }, json, ...asked }) => {
      const refused = refusedWhere(numberIn(json.Name));
      if (refused) return refused;
      act({ whole: asked.message }, { thing: nameOf(gradeObjectId - objectIdOf(0)), ...asked });
      objects.set(gradeObjectId, { ...json, Id: gradeObjectId });
      return undefined;
    },
    'upload-my-submission': ({ path: { folderId = 0 }, json: _, ...asked }) => {
      const refused = refusedWhere(folderId);
      const message = folderId % wrong;
      if (!refused) act({ whole: message }, { ...asked, thing: `${message}`, message });
      return refused;
    },
  };
  const answer: Record<string, (path: Numbers) => unknown> = {
    'who-am-i': () => ({ Identifier: '7' }),
    'delete-enrollment': () => ({}),
    'read-grade-value': (path) => {
      const { parts = {}, changedMs = 0 } = shownOf(gradeThing(path)) ?? {};
      return {
        PointsNumerator: parts.grade,
        Comments: textOut(parts.comments),
        PrivateComments: textOut(parts.privateComments),
        LastModified: new Date(changedMs).toISOString(),
      };
    },
    'list-grade-objects': () => ({ items: [...objects.values()] }),
    'create-grade-object': () => [...objects.values()].at(-1),
    'read-grade-object': object,
    'update-grade-object': object,
    'read-my-submissions': ({ folderId = 0 }) => submissionsIn(folderId % wrong),
  };

  const callerOf = (
    actor: Actor,
    attempt: CallContext,
    endsMs: number,
    message: number,
  ): Platform['call'] => {
    const call = async (operation: Operation<unknown>, input: CallInput = {}): Promise<unknown> => {
      const { name, method } = operation;
      const path = (input.path ?? {}) as Numbers;
      const json = (input.json ?? {}) as Record<string, unknown>;
      const about = { operation, call: safe`${method} /${ownText(name)}`, message: safe`failed` };
      const unanswered = (refused?: RefusedCall) =>
        new PlatformError({ ...about, ...(refused && { refused }), sent: true });
      const neverSent = () => new PlatformError({ ...about, sent: false });
      const asked = { askedMs: stage.nowMs(), copies: options.copiesOf(actor, message) };
      if (name.endsWith('grade-object') || name.endsWith('grade-objects'))
        askedOfObjects.push({ name, message, atMs: stage.nowMs() });
      let mayHaveActed = method !== 'GET';
      // As the client does with a body, so that its files are opened.
      await input.payload?.();
      try {
        return await stage.external(actor, {
          kind: 'platform',
          endsMs,
          deadly: method !== 'GET' && options.deadly(message),
          apply: () => {
            const refused = change[name]?.({ path, json, message, ...asked });
            if (refused) throw unanswered(refused);
            return answer[name]?.(path);
          },
          refusal: stage.one([neverSent, () => unanswered({ status: 429 })]),
          // A proxy that is tired of waiting says 503, and the platform may act all the same.
          silence: stage.one([
            unanswered,
            () => unanswered({ status: 500 }),
            () => unanswered({ status: 503 }),
          ]),
        });
      } catch (error) {
        mayHaveActed &&= error instanceof PlatformError && error.mayHaveActed;
        if (error instanceof PlatformError && error.refused?.status === 400) refusals.push(message);
        throw error;
      } finally {
        attempt.onCall({
          operation: ownText(name),
          call: about.call,
          status: undefined,
          durationMs: 1,
          mayHaveActed,
          priority: 'normal',
        });
      }
    };
    return call as Platform['call'];
  };

  return {
    acts,
    changes,
    askedOfObjects,
    /** The things that a cache has shown. */
    cached: caches,
    /** The messages that it refused for good, each as often as a container was told so. */
    refusals,
    clientOf: (actor: Actor): PlatformClient => ({
      close: async () => {},
      rateLimiter: {
        ...unpaced,
        requestSlot: (_, untilMs, settle) => {
          const atMs = stage.nowMs() + stage.one(turnsAfterMs);
          if (atMs === stage.nowMs()) settle({ slot: freeTurn });
          else if (atMs < untilMs) stage.at(atMs, () => settle({ slot: freeTurn }));
          else settle({ slot: undefined, seconds: stage.one([1, 30]) });
          return () => {};
        },
      },
      for: (attempt) => {
        const endsMs = stage.nowMs() + options.callMs;
        const as = (message: number) =>
          ({ call: callerOf(actor, attempt, endsMs, message), clockOffsetMs: () => 0 }) as Platform;
        return { ...as(0), as } as TaggedPlatform;
      },
    }),
    /** Dates are compared to a second: of what was changed while the next message was at work, nobody knows which came first. */
    cache(thing: string, ms: number) {
      if (stage.nowMs() - (states.get(thing)?.changedMs ?? 0) > attemptAndGraceMs)
        caches.set(thing, { state: states.get(thing), untilMs: stage.nowMs() + ms });
    },
    /** What was lost by it is no message's fault: what comes then is compared with what is there. */
    restore(thing: string) {
      const state = former.get(thing);
      if (state === undefined) return;
      states.set(thing, state);
      acts.push({
        thing,
        message: byRestore,
        atMs: stage.nowMs(),
        askedMs: stage.nowMs(),
        copies: [],
        parts: state.parts,
      });
    },
    /** By a person, who puts what is there in the place of anything. */
    changeByHand(thing: string) {
      if (!states.has(thing)) return;
      const number = -1 - changes.length;
      changes.push({ thing, atMs: stage.nowMs() });
      put(
        thing,
        Object.fromEntries(Object.keys(states.get(thing)?.parts ?? {}).map((part) => [part, number])),
      );
    },
  };
}
