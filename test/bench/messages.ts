import type { DriveAnswered } from './driver.ts';
import { continued, interleaved, valuesOf, withDrivers } from './drivers.ts';
import type { Environment } from './environment.ts';
import { atLeast, atMostTimes, type Figure, type Floor, figureOf, type Section } from './report.ts';

export type MessagesScale = {
  /** Fresh processes of each, as no two are compiled alike. */
  launches: number;
  rounds: number;
  warmUps: number;
  /** In each round, by the platform's latency. */
  messages: { 0: number; 20: number };
};

export const ours = 'sis-relay';
export const raw = 'raw undici';
export const team = 'middy, Powertools, axios';

const gradePushSource = new URL('../../functions/grade-push.ts', import.meta.url);
const rawSource = new URL('peers/raw-undici.ts', import.meta.url);
/** With its own of what the ledger does, as far as it goes. */
export const teamSource = new URL('peers/team-stack-once.ts', import.meta.url);
const teamAloneSource = new URL('peers/team-stack.ts', import.meta.url);

const withoutLedger = (name: string): string => `${name}, no ledger`;
const subjects = [raw, ours, team];

/** A message through the whole handler: parsed, claimed, signed, sent, counted and logged to a pipe that is read. */
export const measureMessages = async (environment: Environment, scale: MessagesScale): Promise<Section> => {
  const { settings, withLedger, bundleOf } = environment;
  const gradePush = (await bundleOf(gradePushSource)).url;
  const drivers = {
    [raw]: { module: rawSource.href, env: withLedger },
    [ours]: { module: gradePush, env: withLedger },
    [team]: { module: (await bundleOf(teamSource)).url, env: withLedger },
    [withoutLedger(raw)]: { module: rawSource.href, env: settings },
    [withoutLedger(ours)]: { module: gradePush, env: settings },
    [withoutLedger(team)]: { module: (await bundleOf(teamAloneSource)).url, env: settings },
  };
  const answers: Record<'0' | '20', Record<string, DriveAnswered[]>> = { 0: {}, 20: {} };
  try {
    for (let at = 0; at < scale.launches; at += 1)
      await withDrivers(drivers, async (driven) => {
        for (const latency of ['0', '20'] as const) {
          await environment.setLatency(Number(latency));
          const messages = scale.messages[latency];
          const asked = () => ({ kind: 'grade-push' as const, batchSize: 10, messages });
          // What is warm stays so: the second series has only the new latency to get used to.
          const warmUps = latency === '0' ? scale.warmUps : 1;
          const measured = await interleaved(driven, { asked, rounds: scale.rounds, warmUps });
          answers[latency] = continued(answers[latency], measured);
        }
      });
  } finally {
    await environment.setLatency(0);
  }
  return {
    title: 'A message',
    about:
      'grade-push as packaged, with its ledger as it is deployed: one request and two writes of DynamoDB a message, batches of ' +
      '10, in a container that is warm; what it costs until then is under Growth. The first peer makes the same three signed ' +
      'calls, the other one has Powertools’ idempotency, which writes twice. Without the ledger, there is one request alone. ' +
      'Only the handler’s process is counted: platform, Secrets Manager and DynamoDB are other processes, and the latter ' +
      'answers as AWS does where nothing is stored yet.',
    figures: (['0', '20'] as const).flatMap((latency) =>
      figuresOf(`the platform answers after ${latency} ms`, answers[latency]),
    ),
  };
};

type Limit = { floor: number; accepted?: Floor['accepted'] };

const besideRaw = (floor: number, limit: number): Limit => ({
  floor,
  accepted: {
    limit,
    reason:
      'raw undici checks, counts, logs and retries nothing, and no function of ours takes more than 2 % of a profile',
  },
});
/** What has a small cache, or its memory far away, pays more for each batch, which begins cold. */
const besideTeam = (floor: number, limit: number): Limit => ({
  floor,
  accepted: {
    limit,
    reason: 'raw undici costs twice as much on some processors, and this peer 1.3 to 1.9 times as much',
  },
});

const figuresOf = (when: string, answers: Record<string, DriveAnswered[]>): Figure[] => {
  const cpu = valuesOf(answers, ({ cpuMs, messages }) => (cpuMs * 1000) / messages);
  const rate = valuesOf(answers, ({ wallMs, messages }) => (messages * 1000) / wallMs);
  const of = (values: Record<string, number[]>, named: (name: string) => string = (name) => name) =>
    Object.fromEntries(subjects.map((name) => [name, values[named(name)] ?? []]));
  const costs = (name: string, values: Record<string, number[]>, limits: Record<string, Limit>): Figure =>
    figureOf(
      `${name}, ${when}`,
      'µs',
      values,
      Object.entries(limits).map(([peer, { floor, accepted }]) =>
        atMostTimes(floor, { peer, ours: values[ours] ?? [], theirs: values[peer] ?? [] }, accepted),
      ),
    );
  const rates = (name: string, values: Record<string, number[]>, floors: Floor[]): Figure =>
    figureOf(`${name}, ${when}`, 'messages/s', values, floors);
  const isSlow = when.includes('20');
  return [
    costs('CPU a message', of(cpu), {
      [raw]: besideRaw(1.7, 2.2),
      [team]: besideTeam(0.3, 0.45),
    }),
    rates(
      'Messages a second in one container',
      of(rate),
      // With a platform that takes its time, it is that which decides.
      isSlow ? [] : [atLeast(minRate, `≥ ${minRate.toLocaleString('en')} messages/s`, rate[ours] ?? [])],
    ),
    costs('CPU a message without the ledger', of(cpu, withoutLedger), {
      [raw]: besideRaw(1.5, 2.4),
      [team]: isSlow ? besideTeam(0.35, 0.6) : besideTeam(0.35, 0.45),
    }),
    rates('Messages a second in one container without the ledger', of(rate, withoutLedger), []),
  ];
};

/** Three times what it was when the SDK's client wrote the ledger. */
const minRate = 1_584;
