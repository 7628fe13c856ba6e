import type { PlayedOutcome } from './history.ts';

/** A container: what it waits for never comes once it is dead. */
export type Actor = { name: string; alive: boolean };

/** Something done to the outside. */
export type Effect<Answer> = {
  kind: 'ledger' | 'platform' | 'letter' | 'visibility' | 'response';
  /** Carries it out; throws where it is answered with a refusal for good. */
  apply(): Answer;
  /** The error of one that was certainly not carried out. */
  refusal(): Error;
  /** The error of one that was not answered. */
  silence(): Error;
  /** Whoever does it dies of it. */
  deadly?: boolean;
  /** Whoever waits for its answer gives up then. */
  endsMs?: number;
  /** Is told what becomes of it. */
  onFate?(outcome: PlayedOutcome): void;
};

type Pending = {
  actor: Actor;
  effect: Effect<unknown>;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
};

export type Stage = ReturnType<typeof createStage>;

const startMs = Date.UTC(2026, 2, 1, 12);
/** A write of which no answer came may still be carried out so much later. */
const lateMs = { ledger: 5_000, platform: 59_000, letter: 5_000, visibility: 5_000, response: 0 };

/** Time, and everything that is under way in it: nothing happens here but what is asked for, in that order. */
export function createStage(seed: number, onDeath: (actor: Actor) => void) {
  const random = randomFrom(seed);
  let nowMs = startMs;
  let pending: Pending[] = [];
  let timers: { atMs: number; run(): void }[] = [];

  const one = <Value>(values: readonly Value[]): Value =>
    values[Math.floor(random() * values.length)] as Value;
  const at = (atMs: number, run: () => void) => void timers.push({ atMs, run });
  const quietly = (run: () => unknown) => {
    try {
      run();
    } catch {
      // What was refused for good has no effect, and nobody waits for the answer.
    }
  };
  const later = ({ kind, apply }: Effect<unknown>) =>
    at(nowMs + 1 + Math.floor(random() * lateMs[kind]), () => quietly(apply));

  /** Ends a container as SIGKILL does: some of what it had sent is carried out all the same. */
  const kill = (actor: Actor) => {
    if (!actor.alive) return;
    actor.alive = false;
    const left = pending.filter((each) => each.actor === actor);
    pending = pending.filter((each) => each.actor !== actor);
    for (const { effect } of left) {
      const outcome = one(['crash before', 'crash after', 'crash late'] as const);
      if (effect.deadly || outcome === 'crash before') continue;
      if (outcome === 'crash after') quietly(effect.apply);
      else later(effect);
    }
    onDeath(actor);
  };

  const meet = ({ actor, effect, resolve, reject }: Pending, asked: PlayedOutcome) => {
    const outcome = effect.deadly ? 'crash before' : asked;
    effect.onFate?.(outcome);
    if (outcome === 'refused') return reject(effect.refusal());
    if (outcome === 'cut') return reject(effect.silence());
    if (outcome === 'crash before') return kill(actor);
    if (outcome === 'late' || outcome === 'crash late') later(effect);
    if (outcome === 'late') return reject(effect.silence());
    if (outcome === 'crash late') return kill(actor);
    if (outcome === 'twice' && effect.kind === 'ledger') quietly(effect.apply);
    if (outcome === 'lost' || outcome === 'crash after') quietly(effect.apply);
    if (outcome === 'lost') return reject(effect.silence());
    if (outcome === 'crash after') return kill(actor);
    try {
      resolve(effect.apply());
    } catch (error) {
      reject(error);
    }
  };

  const giveUp = (entry: Pending) => {
    if (!pending.includes(entry)) return;
    pending = pending.filter((each) => each !== entry);
    meet(entry, one(['cut', 'lost', 'late'] as const));
  };

  // Runs when no promise has anything left to do: a turn of the event loop, which costs system calls, is not needed.
  const settle = () => new Promise<void>((resolve) => process.nextTick(resolve));

  return {
    nowMs: () => nowMs,
    one,
    at,
    kill,
    pending: () => pending.length,

    /** To the outside, and back when it is said what becomes of it. */
    external<Answer>(actor: Actor, effect: Effect<Answer>): Promise<Answer> {
      return new Promise((resolve, reject) => {
        if (!actor.alive) return;
        const entry = { actor, effect, resolve: resolve as (answer: unknown) => void, reject };
        pending.push(entry);
        if (effect.endsMs !== undefined) at(effect.endsMs, () => giveUp(entry));
      });
    },

    /** Answers all that this container waits for. */
    async answer(actor: Actor): Promise<void> {
      for (let next = pending.find((each) => each.actor === actor); next; ) {
        pending = pending.filter((each) => each !== next);
        meet(next, 'well');
        await settle();
        next = pending.find((each) => each.actor === actor);
      }
    },

    async goOn(pick: number, outcome: PlayedOutcome): Promise<void> {
      const [next] = pending.splice(pick % Math.max(1, pending.length), 1);
      if (next) meet(next, outcome);
      await settle();
    },

    /** Ends a container's calls of the platform, as the signal of its deadline does. */
    cut(actor: Actor) {
      for (const each of pending.filter((each) => each.actor === actor && each.effect.kind === 'platform'))
        giveUp(each);
    },

    async pass(ms: number): Promise<void> {
      const untilMs = nowMs + ms;
      for (;;) {
        const due = timers.filter(({ atMs }) => atMs <= untilMs).sort((a, b) => a.atMs - b.atMs)[0];
        if (due === undefined) break;
        timers = timers.filter((each) => each !== due);
        nowMs = Math.max(nowMs, due.atMs);
        due.run();
        await settle();
      }
      nowMs = untilMs;
      await settle();
    },
    settle,
  };
}

/** A small generator of reproducible randomness: the same seed gives the same history. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
