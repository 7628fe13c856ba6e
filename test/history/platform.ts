import type { Attempt, Platform, PlatformClient } from '../../lib/platform/client.ts';
import { PlatformError, type RefusedCall } from '../../lib/platform/error.ts';
import type { Operation } from '../../lib/platform/operation.ts';
import type { CallInput } from '../../lib/platform/request.ts';
import type { Actor, Stage } from './stage.ts';

/** Added to a message's number in what it sends: the platform refuses it. */
export const wrong = 1_000;

/** What acted on the platform, in its order: of which message, and on which thing. */
export type Act = { thing: string; message: number; atMs: number };

type Numbers = Record<string, number | undefined>;
type Options = { lookalike: boolean; deadly(message: number): boolean };

/** Some folders show what was handed in so late: together with a late effect, within the minute that a platform is given. */
const lagMs = 500;

/** The size that every file has. */
export const fileBytes = 5;

/** A platform that keeps what it was told: a message's number is the grade, the role, or the folder. */
export function createPlatformModel(stage: Stage, options: Options) {
  const acts: Act[] = [];
  const refusals: number[] = [];

  const act = (thing: number | undefined, given: number | undefined = 0): RefusedCall | undefined => {
    if (given >= wrong) return { status: 400, title: 'Bad Request' };
    acts.push({ thing: `${thing}`, message: given, atMs: stage.nowMs() });
    return undefined;
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

  /** By operation: the refusal, if it is one, and the answer. */
  const refusal: Record<string, (path: Numbers, json: Numbers) => RefusedCall | undefined> = {
    'create-enrollment': (_, { UserId, RoleId }) => act(UserId, RoleId),
    'set-grade-value': ({ userId }, { PointsNumerator }) => act(userId, PointsNumerator),
    'read-grade-value': ({ userId }) =>
      acts.some(({ thing }) => thing === `${userId}`) ? undefined : { status: 404 },
    'upload-my-submission': ({ folderId = 0 }) => act(folderId % wrong, folderId),
  };
  const answer: Record<string, (path: Numbers) => unknown> = {
    'who-am-i': () => ({ Identifier: '7' }),
    'read-grade-value': () => ({ Comments: { Text: 'kept' }, PrivateComments: { Text: '' } }),
    'read-my-submissions': ({ folderId = 0 }) => submissionsIn(folderId % wrong),
  };

  const callerOf = (actor: Actor, attempt: Attempt): Platform['call'] => {
    const call = async (operation: Operation<unknown>, input: CallInput = {}): Promise<unknown> => {
      const { name, method } = operation;
      const path = (input.path ?? {}) as Numbers;
      const json = (input.json ?? {}) as Numbers;
      const about = { operation, call: `${method} /${name}`, message: 'failed' };
      const unanswered = (refused?: RefusedCall) =>
        new PlatformError({ ...about, ...(refused && { refused }), sent: true });
      const neverSent = () => new PlatformError({ ...about, sent: false });
      const given = json.PointsNumerator ?? json.RoleId ?? path.folderId ?? 0;
      let mayHaveActed = method !== 'GET';
      // As the client does with a body, so that its files are opened.
      await input.payload?.();
      try {
        return await stage.external(actor, {
          kind: 'platform',
          deadly: method !== 'GET' && options.deadly(given % wrong),
          apply: () => {
            const refused = refusal[name]?.(path, json);
            if (refused) throw unanswered(refused);
            return answer[name]?.(path);
          },
          refusal: stage.one([
            neverSent,
            () => unanswered({ status: 503 }),
            () => unanswered({ status: 429 }),
          ]),
          silence: stage.one([unanswered, () => unanswered({ status: 500 })]),
        });
      } catch (error) {
        mayHaveActed &&= error instanceof PlatformError && error.mayHaveActed;
        if (error instanceof PlatformError && error.refused?.status === 400) refusals.push(given % wrong);
        throw error;
      } finally {
        attempt.onCall({ operation: name, call: about.call, status: undefined, durationMs: 1, mayHaveActed });
      }
    };
    return call as Platform['call'];
  };

  return {
    acts,
    /** The messages that it refused for good, each as often as a container was told so. */
    refusals,
    clientOf: (actor: Actor): PlatformClient => ({
      close: async () => {},
      for: (attempt) => ({ call: callerOf(actor, attempt), clockOffsetMs: () => 0 }) as Platform,
    }),
  };
}
