import type { MessageReport } from '../../lib/observe.ts';
import type { History, Step } from './history.ts';
import { wrong } from './platform.ts';
import type { Copy, Letter } from './queue.ts';
import { createWorld } from './world.ts';

/** What is not as it must be: nothing, if all is well; and what was reached on the way. */
export type Life = { problems: string[]; reached: Set<string> };

/** Lives through a history and its end in peace, and judges. Messages are numbered from 1. */
export async function live(history: History): Promise<Life> {
  const problems: string[] = [];
  const problem = (text: string) => void problems.push(text);
  const world = createWorld(history, { onGone, problem });
  const { stage, queue, platform, pool, mended } = world;
  const sent = new Set<number>();
  /** Of which a person has seen the effect, and thrown the letter away. */
  const settledByHand = new Set<number>();
  const repeatable = history.integration !== 'submission-upload';

  const planOf = (message: number) => history.messages[message - 1]!;
  const thingOf = (message: number) => `${repeatable ? planOf(message).thing + 1 : message}`;
  const hasActed = (message: number) => platform.acts.some((act) => act.message === message);
  const hasLetter = (message: number) => queue.letters.some((letter) => letter.message === message);
  const isThere = (message: number, but?: Copy) =>
    queue.copies.some((copy) => copy.message === message && !copy.gone && copy !== but);
  const newerThan = (message: number) =>
    [...sent].filter((other) => thingOf(other) === thingOf(message) && compare(history, other, message) > 0);
  const lives = (message: number, but?: Copy) =>
    hasActed(message) || hasLetter(message) || settledByHand.has(message) || isThere(message, but);

  function onGone(copy: Copy, report: MessageReport | undefined) {
    const { message, replays } = copy;
    const outcome = report?.outcome;
    if ((outcome === 'done' || outcome === 'duplicate') && !hasActed(message))
      problem(`message ${message} is ${outcome}, and has had no effect`);
    const parked = queue.written.some((letter) => letter.message === message && letter.replays === replays);
    if (outcome === 'parked' && !parked) problem(`message ${message} is gone before its letter is there`);
    if (!lives(message, copy) && !newerThan(message).some((other) => lives(other)))
      problem(`message ${message} is gone, and nothing is left of it`);
  }

  const send = (message: number) => {
    if (message > history.messages.length) return;
    sent.add(message);
    queue.send(message, bodyOf(history, message, planOf(message).wrong));
  };

  const deliver = (step: Step & { do: 'deliver' }) => {
    const nowMs = stage.nowMs();
    const fitting = queue.copies.filter(({ gone, visibleMs }) => {
      if (gone) return step.again === 'deleted';
      return visibleMs <= nowMs || step.again === 'in flight';
    });
    const from = step.from % Math.max(1, fitting.length);
    const batch = [...fitting.slice(from), ...fitting.slice(0, from)].slice(0, step.count);
    const container = pool[step.container]!;
    if (container.batch !== undefined) return;
    world.befall(batch.filter(({ gone, answered, visibleMs }) => gone || answered || visibleMs > nowMs));
    world.invoke(container, batch);
  };

  /** Does what the letter says: corrects, looks, replays. */
  const settleLetter = (letter: Letter, corrected: boolean) => {
    queue.letters.splice(queue.letters.indexOf(letter), 1);
    const { message } = letter;
    if (letter.failure?.kind === 'uncertain' && hasActed(message)) return void settledByHand.add(message);
    if (corrected) mended.add(message);
    const body = corrected ? bodyOf(history, message, false) : letter.body;
    queue.send(message, body, { replays: letter.replays + 1, kind: letter.failure?.kind ?? 'none' });
  };

  const take = async (step: Step): Promise<void> => {
    if (step.do === 'send') send(step.message + 1);
    if (step.do === 'deliver') deliver(step);
    if (step.do === 'go on') return stage.goOn(step.pick, step.fate);
    if (step.do === 'pass') return stage.pass(step.seconds * 1000);
    if (step.do === 'kill') stage.kill(pool[step.container]!);
    const letter = step.do === 'replay' && queue.letters[step.pick % queue.letters.length];
    if (step.do === 'replay' && letter) settleLetter(letter, step.corrected);
    return stage.settle();
  };

  /** From now on nothing goes wrong, until nothing is left to do. */
  const rest = async (): Promise<void> => {
    for (let steps = 0; steps < 2_000; steps += 1) {
      const left = queue.copies.filter(({ gone }) => !gone);
      const visible = left.filter(({ visibleMs }) => visibleMs <= stage.nowMs());
      const idle = pool.find(({ batch }) => batch === undefined);
      if (stage.pending() > 0) await stage.goOn(0, 'well');
      else if (idle && visible.length > 0) {
        world.invoke(idle, visible.slice(0, 10));
        await stage.settle();
      } else if (left.length > 0)
        await stage.pass(Math.max(1, Math.min(...left.map(({ visibleMs }) => visibleMs)) - stage.nowMs()));
      else return stage.pass(600_000);
    }
    problem('it does not come to rest');
  };

  const judgeOrder = () => {
    for (const [at, act] of platform.acts.entries()) {
      const before = platform.acts.slice(0, at).filter(({ thing }) => thing === act.thing);
      for (const earlier of before)
        if (compare(history, earlier.message, act.message) > 0)
          problem(`message ${act.message} acts after ${earlier.message}, which is newer`);
      if (!repeatable && before.length > 0) problem(`message ${act.message} acts twice`);
    }
  };

  const judgeLetters = () => {
    for (const { message, failure } of queue.written) {
      const befallen = world.misfortunesOf(message);
      const waited = Date.parse(failure?.lastAt ?? '') - Date.parse(failure?.firstAt ?? '') >= 24 * 3_600_000;
      const fitting: Record<string, boolean> = {
        rejected: planOf(message).wrong,
        uncertain: (history.lookalike && !repeatable) || waited,
        crashed: befallen + world.ledgerFaults() >= 3,
        unavailable: waited,
        throttled: waited,
      };
      if (!fitting[failure?.kind ?? ''])
        problem(`message ${message} has a needless letter: ${failure?.kind}`);
    }
    for (const message of new Set(platform.refusals)) {
      const right = bodyOf(history, message, false);
      const ofIt = queue.copies.filter((copy) => copy.message === message && copy.body !== right);
      const allowed = ofIt.length + world.misfortunesOf(message);
      const times = platform.refusals.filter((each) => each === message).length;
      if (times > allowed) problem(`message ${message} was refused ${times} times, for ${allowed} at most`);
    }
  };

  for (const step of history.steps) await take(step);
  await rest();
  for (const message of sent)
    if (!lives(message) && !newerThan(message).some((other) => lives(other)))
      problem(`message ${message} is lost`);
  // A second time where the first left something uncertain, a third where it was refused as it was.
  for (let round = 0; round < 4 && queue.letters.length > 0; round += 1) {
    for (const letter of [...queue.letters]) settleLetter(letter, true);
    await rest();
  }
  if (queue.letters.length > 0) problem('letters are left that were corrected and replayed');
  for (const message of sent) {
    const last = platform.acts.findLast(({ thing }) => thing === thingOf(message))?.message;
    if (last === undefined || compare(history, last, message) < 0)
      problem(`message ${message} has had no effect in the end, nor a newer one: ${last} is what remains`);
  }
  judgeOrder();
  judgeLetters();
  return { problems, reached: world.reached };
}

/** Which of two messages the SIS ordered later: said here in other words than the ledger's. */
function compare(history: History, one: number, other: number): number {
  const rank = (message: number) => {
    const { minute, sequence } = history.messages[message - 1]!;
    return [minute, Number(sequence ?? -1), message];
  };
  const [a, b] = [rank(one), rank(other)];
  const at = a.findIndex((value, index) => value !== b[index]);
  return at < 0 ? 0 : a[at]! - b[at]!;
}

function bodyOf(history: History, message: number, isWrong: boolean): string {
  const { thing, minute, sequence } = history.messages[message - 1]!;
  const given = message + (isWrong ? wrong : 0);
  const file = { uri: 's3://bucket/file', name: `${message}.pdf`, contentType: 'application/pdf' };
  const data = {
    'enrollment-create': { orgUnitId: 1, userId: thing + 1, roleId: given },
    'grade-push': {
      orgUnitId: 1,
      gradeObjectId: 1,
      userId: thing + 1,
      grade: { type: 'numeric', points: given },
    },
    'submission-upload': { orgUnitId: 1, folderId: given, userId: 7, files: [file] },
  }[history.integration];
  const time = new Date(Date.UTC(2026, 2, 1, 10, minute)).toISOString();
  const type = `sis.${history.integration}.v1`;
  return JSON.stringify({ specversion: '1.0', id: `${message}`, source: '/sis', type, time, sequence, data });
}
