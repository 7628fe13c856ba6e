import { continued, interleaved, valuesOf, withDrivers } from './drivers.ts';
import type { Environment } from './environment.ts';
import { ours, raw } from './messages.ts';
import { atMostTimes, type Figure, figureOf, type Section } from './report.ts';

export type PayloadsScale = { launches: number; rounds: number; warmUps: number; messages: number };

/** Of the text; what it may cost beside the peer. */
const sizes = [
  { size: '1 KB', textLength: 1_024, most: 2 },
  { size: '256 KB', textLength: 256 * 1_024, most: 1.25 },
];

const source = new URL('../../functions/user-attributes-update.ts', import.meta.url);
const rawSource = new URL('peers/raw-attributes.ts', import.meta.url);

/** What the size of a message costs: its body is parsed, checked and written anew, and nothing else should look at all of it. */
export const measurePayloads = async (environment: Environment, scale: PayloadsScale): Promise<Section> => {
  const env = environment.settings;
  const drivers = {
    [raw]: { module: rawSource.href, env },
    [ours]: { module: (await environment.bundleOf(source)).url, env },
  };
  const figures: Figure[] = [];
  for (const { size, textLength, most } of sizes) {
    let answers = {};
    for (let at = 0; at < scale.launches; at += 1)
      await withDrivers(drivers, async (driven) => {
        const asked = () => ({
          ...{ kind: 'user-attributes-update' as const, batchSize: 10, messages: scale.messages },
          textLength,
        });
        answers = continued(answers, await interleaved(driven, { asked, ...scale }));
      });
    const cpu = valuesOf(answers, ({ cpuMs, messages }) => (cpuMs * 1000) / messages);
    const floor = atMostTimes(most, { peer: raw, ours: cpu[ours] ?? [], theirs: cpu[raw] ?? [] });
    figures.push(figureOf(`CPU a message of ${size}`, 'µs', cpu, [floor]));
  }
  return {
    title: 'A large message',
    about:
      'user-attributes-update as packaged, without its ledger: one request a message, batches of 10, in a container that is ' +
      'warm. The peer parses a message, signs the call and writes the text anew, and nothing more.',
    figures,
  };
};
