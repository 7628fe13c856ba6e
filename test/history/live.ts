import type { MessageReport } from '../../lib/runtime/telemetry/observe.ts';
import type { History, Step } from './history.ts';
import { type Act, byRestore, gradeIn, nameOf, objectIdOf, wrong } from './platform.ts';
import type { Copy, Letter } from './queue.ts';
import { createWorld, timeoutMs } from './world.ts';

/** What has missing or wrong fields: nothing, if all is well; and what was reached on the way. */
export type Life = { problems: string[]; reached: Set<string> };

/** A message that its queue shows is received within this time. */
const backlogMs = 10 * 60_000;

/** Lives through a history and its end in peace, and judges. Messages are numbered from 1. */
export async function live(history: History): Promise<Life> {
  const problems: string[] = [];
  const problem = (text: string) => void problems.push(text);
  const world = createWorld(history, { onGone, problem });
  const { stage, queue, platform, pool, mended } = world;
  const sent = new Set<number>();
  /** Of which a person has seen the effect, or that of a newer one, and thrown the letter away. */
  const settledByHand = new Set<number>();
  /** Messages of which SQS handed out a copy that was in flight, or deleted. */
  const handedOutTwice = new Set<number>();
  let [isSentAnew, isOverruled] = [false, false];
  /** When copies were acknowledged as done. */
  const dones: { copy: Copy; atMs: number }[] = [];

  const planOf = (message: number) => history.messages[message - 1]!;
  const isRepeatable = (message: number) => {
    return aboutObjects(history, message) !== 'creates' && history.family !== 'submissions';
  };
  const thingOf = (message: number): string => {
    const created = createdBy(history, message);
    if (created !== undefined) return planOf(message).removes ? nameOf(created) : gradeIn(created);
    return `${isRepeatable(message) ? planOf(message).thing + 1 : message}`;
  };
  const partsOf = (message: number): string[] => {
    if (aboutObjects(history, message) === 'grades') return ['grade'];
    if (history.family !== 'grades') return ['whole'];
    const { comments, privateComments } = planOf(message);
    return ['grade', ...(comments ? ['comments'] : []), ...(privateComments ? ['privateComments'] : [])];
  };
  const hasActed = (message: number, part?: string) =>
    platform.acts.some(({ thing, parts }) => {
      const own = part === undefined ? Object.values(parts) : [parts[part]];
      return thing === thingOf(message) && own.includes(message);
    });
  const hasLetter = (message: number) => queue.letters.some((letter) => letter.message === message);
  const isThere = (message: number, but?: Copy) =>
    queue.copies.some((copy) => copy.message === message && !copy.gone && copy !== but);
  const newerThan = (message: number) =>
    [...sent].filter((other) => thingOf(other) === thingOf(message) && compare(history, other, message) > 0);
  const newerWith = (message: number, part: string) =>
    newerThan(message).filter((other) => partsOf(other).includes(part));
  /** By a newer one that was done. */
  const isSuperseded = (message: number, part: string) =>
    newerWith(message, part).some((other) => hasActed(other, part));
  const isDone = (message: number) =>
    partsOf(message).every((part) => hasActed(message, part) || isSuperseded(message, part));
  /** A name was changed while it was a letter: then nobody knows what it was called before. */
  const isHidden = (message: number) => {
    // An attempt before that one left no outcome, and it was refused: the ledger keeps that something may have been done.
    if (platform.refusals.includes(message)) return true;
    const letters = queue.written.filter((letter) => letter.message === message);
    return platform.askedOfObjects.some(
      ({ name, atMs }) =>
        name === 'update-grade-object' &&
        letters.some(({ failure }) => Date.parse(failure?.lastAt ?? '') <= atMs),
    );
  };
  /** All that it gives has acted, and it was acknowledged as done. */
  const isAllDone = (message: number) =>
    dones.some(({ copy }) => copy.message === message) &&
    partsOf(message).every((part) => hasActed(message, part));
  const lives = (message: number, but?: Copy) =>
    isDone(message) || hasLetter(message) || settledByHand.has(message) || isThere(message, but);

  function onGone(copy: Copy, report: MessageReport | undefined) {
    const { message, replays } = copy;
    const outcome = report?.outcome;
    if (outcome === 'done' && !isDone(message) && !hasActed(message))
      problem(`message ${message} is done, and has had no effect`);
    if (outcome === 'done') dones.push({ copy, atMs: stage.nowMs() });
    const parked = queue.written.some((letter) => letter.message === message && letter.replays === replays);
    if (outcome === 'parked' && !parked) problem(`message ${message} is gone before its letter is there`);
    if (outcome === 'superseded' && !partsOf(message).every((part) => isSuperseded(message, part)))
      problem(`message ${message} is superseded by what was not done`);
    if (!lives(message, copy)) problem(`message ${message} is gone, and nothing is left of it`);
  }

  const send = (message: number, minutes?: number) => {
    if (message > history.messages.length) return;
    const created = createdBy(history, message);
    // The SIS knows the id of what was created from the platform, and the name from itself.
    const isKnown = planOf(message).removes ? hasActed : (about: number) => sent.has(about);
    if (created !== undefined && !isKnown(created)) return;
    sent.add(message);
    const event = JSON.parse(bodyOf(history, message, planOf(message).wrong));
    const time = minutes === undefined ? event.time : timeOf(minutes);
    queue.send(message, JSON.stringify({ ...event, time }));
  };

  type Container = (typeof pool)[number];
  const isFor = ({ runs }: Container, { message }: Copy): boolean => runs === functionOf(history, message);

  const deliver = (step: Step & { do: 'deliver' }) => {
    const nowMs = stage.nowMs();
    const container = pool[step.container]!;
    const fitting = queue.copies.filter((copy) => {
      if (!isFor(container, copy)) return false;
      if (copy.gone) return step.again === 'deleted';
      return copy.visibleMs <= nowMs || step.again === 'in flight';
    });
    const from = step.from % Math.max(1, fitting.length);
    const batch = [...fitting.slice(from), ...fitting.slice(0, from)].slice(0, step.count);
    if (container.batch !== undefined) return;
    const again = batch.filter(({ gone, answered, visibleMs }) => gone || answered || visibleMs > nowMs);
    world.befall(again);
    for (const copy of again) {
      handedOutTwice.add(copy.message);
      copy.againMs.push(nowMs);
    }
    world.invoke(container, batch);
  };

  /** Whoever corrects it gives the id of what has no such name, or has it no more. */
  const correctedBody = (message: number): string => {
    const event = JSON.parse(bodyOf(history, message, false));
    const { gradeObjectName, ...data } = event.data;
    const created = createdBy(history, message) ?? 0;
    if (gradeObjectName === undefined || !hasActed(created)) return JSON.stringify(event);
    return JSON.stringify({ ...event, data: { ...data, gradeObjectId: objectIdOf(created) } });
  };

  /** Does what the letter says: corrects, looks, replays. */
  const settleLetter = (letter: Letter, corrected: boolean) => {
    queue.letters.splice(queue.letters.indexOf(letter), 1);
    const { message } = letter;
    // Whoever finds a newer grade there adds the comment by hand.
    const isMoot =
      partsOf(message).some((part) => isSuperseded(message, part)) ||
      (!isRepeatable(message) && isDone(message));
    if (letter.failure?.kind === 'uncertain') {
      const overrules = newerThan(message).length > 0;
      // Those before a message that a person has put over a newer one count as new: nobody may send them with another time.
      if (isMoot || (overrules && isSentAnew)) return void settledByHand.add(message);
      isOverruled ||= overrules;
    }
    if (corrected) mended.add(message);
    const body = corrected ? correctedBody(message) : letter.body;
    queue.send(message, body, { replays: letter.replays + 1, kind: letter.failure?.kind ?? 'none' });
  };

  /** Time goes by in peace: what its queue shows is received before long. */
  const pass = async (ms: number): Promise<void> => {
    const untilMs = stage.nowMs() + ms;
    while (stage.nowMs() < untilMs) {
      await stage.pass(Math.min(backlogMs, untilMs - stage.nowMs()));
      for (const container of pool) {
        const waiting = queue.copies.filter(
          (copy) => isFor(container, copy) && !copy.gone && copy.visibleMs <= stage.nowMs() - backlogMs,
        );
        if (container.batch !== undefined || waiting.length === 0) continue;
        world.invoke(container, waiting.slice(0, 10));
        await stage.settle();
        await stage.answer(container);
      }
    }
  };

  /** What it gave first counts: nobody knows which that is as long as it has not been done. */
  const sendAnew = (message: number, minutes: number) => {
    if (isOverruled || !isAllDone(message)) return;
    isSentAnew = true;
    send(message, minutes);
  };

  const dealWithLetter = (step: Step & { pick: number }) => {
    const letter = queue.letters[step.pick % queue.letters.length];
    if (letter === undefined) return;
    if (step.do === 'replay') settleLetter(letter, step.corrected);
    if (step.do === 'redrive') queue.redrive(letter);
    if (step.do !== 'discard') return;
    queue.letters.splice(queue.letters.indexOf(letter), 1);
    send(letter.message);
  };

  const changePlatform = (step: Step) => {
    if (step.do === 'change') platform.changeByHand(`${step.thing + 1}`);
    if (step.do === 'cache') platform.cache(`${step.thing + 1}`, step.seconds * 1000);
    if (step.do === 'restore') platform.restore(`${step.thing + 1}`);
  };

  const take = async (step: Step): Promise<void> => {
    if (step.do === 'go on') return stage.goOn(step.pick, step.outcome);
    if (step.do === 'pass') return pass(step.seconds * 1000);
    if (step.do === 'send') send(step.message + 1);
    else if (step.do === 'send anew') sendAnew(step.message + 1, step.minutes);
    else if (step.do === 'deliver') deliver(step);
    else if (step.do === 'kill') stage.kill(pool[step.container]!);
    else if ('pick' in step) dealWithLetter(step);
    else changePlatform(step);
    return stage.settle();
  };

  /** From now on nothing goes wrong, until nothing is left to do. */
  const rest = async (): Promise<void> => {
    // While all containers are busy, a step may be a millisecond, and a message may wait for a day.
    for (let steps = 0; steps < 200_000; steps += 1) {
      const left = queue.copies.filter(({ gone }) => !gone);
      const visible = left.filter(({ visibleMs }) => visibleMs <= stage.nowMs());
      const idle = pool.find(
        (container) => container.batch === undefined && visible.some((copy) => isFor(container, copy)),
      );
      if (stage.pending() > 0) await stage.goOn(0, 'well');
      else if (idle) {
        world.invoke(idle, visible.filter((copy) => isFor(idle, copy)).slice(0, 10));
        await stage.settle();
      } else if (left.length > 0)
        await stage.pass(Math.max(1, Math.min(...left.map(({ visibleMs }) => visibleMs)) - stage.nowMs()));
      else return stage.pass(600_000);
    }
    problem('it does not come to rest');
  };

  /** The successes of a message before then. A copy that SQS hands out again meanwhile, or after it, counts as not done from then on. */
  const donesBefore = (message: number, byMs: number) =>
    dones.filter(
      ({ copy, atMs }) =>
        copy.message === message &&
        atMs < byMs &&
        !copy.againMs.some((againMs) => againMs > atMs - timeoutMs && againMs <= byMs),
    );

  const judgeOrder = () => {
    for (const [at, act] of platform.acts.entries()) {
      if (act.message === byRestore) continue;
      const before = platform.acts.slice(0, at).filter(({ thing }) => thing === act.thing);
      for (const [part, number] of Object.entries(act.parts)) {
        const earlier = before.at(-1)?.parts[part] ?? 0;
        // What left no outcome is set again by its own message, or by a newer one: in the end, that is judged.
        if (
          number !== act.message &&
          platform.cached.has(act.thing) &&
          donesBefore(earlier, act.askedMs).length === 0
        )
          continue;
        if (earlier > 0 && number > 0 && compare(history, earlier, number) > 0)
          problem(`message ${number} acts after ${earlier}, which is newer (${part})`);
        // No message clears a comment: an empty one is a lost one.
        if (number === 0 && earlier > 0)
          problem(`message ${act.message} wipes out the ${part} of ${earlier}`);
      }
      if (!isRepeatable(act.message) && before.some(({ message }) => message !== byRestore))
        problem(`message ${act.message} acts twice`);
      judgeUndone(act);
    }
  };

  /** A second copy of a message that was done must not undo what a person has changed since. */
  const judgeUndone = ({ thing, message, askedMs, copies }: (typeof platform.acts)[number]) => {
    for (const { copy, atMs } of donesBefore(message, askedMs)) {
      const changed = platform.changes.some(
        (change) => change.thing === thing && change.atMs > atMs && change.atMs < askedMs,
      );
      // A later replay was refused. Whether the earlier copy was done is unknown from then on: to lose it would be worse.
      const isForgotten = queue.written.some(({ failure, replays, ...letter }) => {
        const refusedMs = Date.parse(failure?.lastAt ?? '');
        return (
          letter.message === message && replays > copy.replays && refusedMs >= atMs && refusedMs < askedMs
        );
      });
      // Whoever replays an uncertain letter has looked at what is there.
      const isAnother = copies.every(
        ({ messageId, replays, kind }) =>
          messageId !== copy.messageId && replays <= copy.replays && kind !== 'uncertain',
      );
      if (changed && isAnother && !isForgotten)
        problem(`a second copy of message ${message} undoes what a person has changed`);
    }
  };

  const judgeLetters = () => {
    for (const { message, failure, replays } of queue.written) {
      const befallen = world.misfortunesOf(message);
      const waitedMs = Date.parse(failure?.lastAt ?? '') - Date.parse(failure?.firstAt ?? '');
      const waited = waitedMs >= 24 * 3_600_000;
      const fitting: Record<string, boolean> = {
        // A person has replayed it while a cache still showed no grade.
        rejected: planOf(message).wrong || (replays > 0 && platform.cached.has(thingOf(message))),
        uncertain: ((history.lookalike || isHidden(message)) && !isRepeatable(message)) || waited,
        crashed: befallen + world.ledgerFaults() >= 3,
        unavailable: waited,
        throttled: waited,
        'unknown-id': waitedMs >= 3 * 3_600_000 && aboutObjects(history, message) === 'grades',
      };
      if (!fitting[failure?.kind ?? ''])
        problem(`message ${message} has a needless letter: ${failure?.kind}`);
    }
    for (const message of new Set(platform.refusals)) {
      const right = bodyOf(history, message, false);
      const ofIt = queue.copies.filter((copy) => copy.message === message && copy.body !== right);
      // Where an ending cannot be written, its message must come back, and is asked again.
      const allowed = ofIt.length + world.misfortunesOf(message) + world.ledgerFaults();
      const times = platform.refusals.filter((each) => each === message).length;
      if (times > allowed) problem(`message ${message} was refused ${times} times, for ${allowed} at most`);
    }
  };

  for (const step of history.steps) await take(step);
  await rest();
  for (const message of sent) if (!lives(message)) problem(`message ${message} is lost`);
  // A second time where the first left something uncertain, a third where it was refused as it was.
  for (let round = 0; round < 4 && queue.letters.length > 0; round += 1) {
    for (const letter of [...queue.letters]) settleLetter(letter, true);
    await rest();
  }
  if (queue.letters.length > 0) problem('letters are left that were corrected and replayed');
  for (const message of sent)
    for (const part of settledByHand.has(message) ? [] : partsOf(message)) {
      const acts = platform.acts.filter(({ thing }) => thing === thingOf(message));
      const isNewEnough = ({ parts: { [part]: number = 0 } }: Act) =>
        number > 0 && compare(history, number, message) >= 0;
      const restoredAt = acts.findLastIndex((act) => act.message === byRestore);
      if (acts.slice(0, Math.max(0, restoredAt)).some(isNewEnough)) continue;
      const last = acts.findLast(({ parts }) => (parts[part] ?? -1) >= 0)?.parts[part] ?? 0;
      if (last === 0 || compare(history, last, message) < 0)
        problem(`message ${message} has had no effect in the end, nor a newer one: ${last} is the ${part}`);
    }
  judgeOrder();
  for (const { message, thing } of platform.acts)
    if (message !== byRestore && thing !== thingOf(message)) problem(`message ${message} acts on ${thing}`);
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

/** What it does where it is about grade objects. */
function aboutObjects({ family, messages }: History, message: number) {
  const { removes, comments } = messages[message - 1]!;
  if (family !== 'objects') return undefined;
  if (removes) return 'renames';
  return comments ? 'grades' : 'creates';
}

/** The message that creates what this one is about; 0: there is none. Undefined where it is about something else. */
function createdBy(history: History, message: number): number | undefined {
  const { messages } = history;
  if ((aboutObjects(history, message) ?? 'creates') === 'creates') return undefined;
  const created = messages.flatMap((_, at) => (aboutObjects(history, at + 1) === 'creates' ? [at + 1] : []));
  return created[messages[message - 1]!.thing % created.length] ?? 0;
}

function functionOf(history: History, message: number): string {
  const { family, messages } = history;
  const does = aboutObjects(history, message);
  if (does === 'renames') return 'grade-object-update';
  if (does === 'creates') return 'grade-object-create';
  if (does === 'grades') return 'grade-push';
  if (family === 'enrollments')
    return messages[message - 1]?.removes ? 'enrollment-remove' : 'enrollment-create';
  return family === 'grades' ? 'grade-push' : 'submission-upload';
}

const timeOf = (minute: number): string => new Date(Date.UTC(2026, 2, 1, 10, minute)).toISOString();

function bodyOf(history: History, message: number, isWrong: boolean): string {
  const { thing, minute, sequence, comments, privateComments } = history.messages[message - 1]!;
  const name = functionOf(history, message);
  const given = message + (isWrong ? wrong : 0);
  const file = { uri: 's3://bucket/file', name: `${message}.pdf`, contentType: 'application/pdf' };
  const about = createdBy(history, message) ?? 0;
  const points = { type: 'numeric', points: given };
  const byName = {
    orgUnitId: 1,
    gradeObjectName: `name ${about}`,
    userId: 1,
    grade: points,
    comments: '',
    privateComments: '',
  };
  const data: Record<string, object> = {
    'enrollment-create': { orgUnitId: 1, userId: thing + 1, roleId: given },
    'enrollment-remove': { orgUnitId: 1, userId: thing + 1 },
    'grade-push':
      aboutObjects(history, message) === 'grades'
        ? byName
        : {
            orgUnitId: 1,
            gradeObjectId: 1,
            userId: thing + 1,
            grade: points,
            ...(comments && { comments: `${message}` }),
            ...(privateComments && { privateComments: `${message}` }),
          },
    'grade-object-create': { orgUnitId: 1, type: 'numeric', name: `name ${given}`, maxPoints: 10 },
    'grade-object-update': {
      orgUnitId: 1,
      type: 'numeric',
      name: `name ${given}`,
      gradeObjectId: objectIdOf(about),
    },
    'submission-upload': { orgUnitId: 1, folderId: given, userId: 7, files: [file] },
  };
  const time = timeOf(minute);
  const type = `sis.${name}.v1`;
  return JSON.stringify({
    specversion: '1.0',
    id: `${message}`,
    source: '/sis',
    type,
    time,
    sequence,
    data: data[name],
  });
}
