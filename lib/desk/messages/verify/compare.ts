import { draftOf } from '../../../message/message.ts';
import { failureOf } from '../../../platform/client/failure-of.ts';
import { inParallel } from '../../../runtime/aws/parallel.ts';
import { createFiles } from '../../../runtime/files/files.ts';
import { checkConnection } from '../../../stage/connection/check.ts';
import { withConnection } from '../../../stage/connection/connection.ts';
import { integrationNamed } from '../../../stage/integrations.ts';
import type { Target } from '../../../stage/target.ts';
import { type LetterDetails, revealLetters } from '../letters/show.ts';
import { asItsFunction, type EffectCheckParts } from './effect-check.ts';

/** What an outdated message sets beside what the platform shows. `unknown`: why the platform shows nothing. */
export type SideBySide =
  | {
      fields: { field: string; sent: string; shown: string | undefined }[];
      /** When the SIS made the change, and when the platform last changed it, if it says so. */
      sentAt: string;
      changedAt: string | undefined;
    }
  | { unknown: string };

export type RevealedLetter = LetterDetails & { comparison?: SideBySide };

/** Reveals letters together, for one reason, and compares those that are outdated with the platform. */
export const revealAndCompare = async (
  target: Target,
  options: Parameters<typeof revealLetters>[1],
): Promise<RevealedLetter[]> => compareOutdated(target, await revealLetters(target, options), options.signal);

/** Adds to revealed letters that are outdated what the platform shows. */
export const compareOutdated = async (
  target: Target,
  letters: readonly LetterDetails[],
  signal: AbortSignal,
): Promise<RevealedLetter[]> => {
  const outdated = letters.filter(({ kind }) => kind === 'outdated');
  if (outdated.length === 0) return [...letters];
  const compared = await comparedWithPlatform(target, outdated, signal);
  return letters.map((letter) => {
    const comparison = compared.get(letter);
    return comparison === undefined ? letter : { ...letter, comparison };
  });
};

const comparedWithPlatform = async (
  target: Target,
  letters: readonly LetterDetails[],
  signal: AbortSignal,
): Promise<Map<LetterDetails, SideBySide>> => {
  const allUnknown = (unknown: string) => new Map(letters.map((letter) => [letter, { unknown }]));
  const compared = await withConnection(target, async (connection) => {
    const { reachable, platform } = await checkConnection(connection);
    if (!reachable) return allUnknown(`${platform} does not answer from here`);
    const found = new Map<LetterDetails, SideBySide>();
    const files = createFiles({ s3: target.s3, ...connection.settings.files });
    try {
      await inParallel(letters, async (letter) => {
        found.set(letter, await comparisonOf(letter, { connection, files, signal }));
      });
      return found;
    } finally {
      await files.close();
    }
  });
  return compared ?? allUnknown('the platform is not known: set PLATFORM_URL');
};

const comparisonOf = async (
  { function: name, message: body, failure }: LetterDetails,
  parts: Omit<EffectCheckParts, 'readLedger'>,
): Promise<SideBySide> => {
  const integration = await integrationNamed(name);
  const effect = integration?.effect;
  if (integration === undefined || effect === undefined)
    return { unknown: 'no call of the platform shows it' };
  try {
    const message = draftOf(JSON.stringify(body), integration, Date.now()).message(failure?.ids);
    const { fields, changedMs } = await asItsFunction({ integration, message }, parts, (context) =>
      effect.shown(message.data, context),
    );
    return {
      fields: Object.entries(effect.wanted(message.data)).map(([field, sent]) => ({
        field,
        sent,
        shown: fields[field],
      })),
      sentAt: message.time,
      changedAt: Number.isNaN(changedMs) ? undefined : new Date(changedMs).toISOString(),
    };
  } catch (error) {
    return { unknown: failureOf(error).message };
  }
};
