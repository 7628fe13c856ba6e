import { deskOf } from '../dead-letters/reading/records.ts';
import { UsageError } from '../deployment/command-errors.ts';
import type { Target } from '../deployment/target.ts';
import { scanned } from '../desk/read.ts';
import type { DeskRecord } from '../desk/record.ts';
import { isNamed } from '../desk/subject.ts';

/**
 * What operators see of messages about a user, a course, or that user in that course, ended ones too, the newest first. The whole table
 * is read for it. @throws where it cannot be read.
 */
export const messagesAbout = async (
  target: Target,
  about: { user?: string | undefined; orgUnit?: string | undefined },
  { limit, signal }: { limit: number; signal: AbortSignal },
): Promise<{ messages: DeskRecord[]; isWhole: boolean }> => {
  const asked = (['user', 'orgUnit'] as const).flatMap((name) =>
    about[name] === undefined ? [] : { name, value: about[name] },
  );
  if (asked.length === 0)
    throw new UsageError('Messages about whom or what? Give a user, an org unit, or both.');
  const condition = {
    text: asked.map(({ name }) => `(#${name} = :${name} OR contains(#named, :${name}))`).join(' AND '),
    names: { ...Object.fromEntries(asked.map(({ name }) => [`#${name}`, name])), '#named': 'named' },
    values: Object.fromEntries(asked.map(({ name, value }) => [`:${name}`, value])),
  };
  const read = await scanned(deskOf(target), condition, { signal });
  const found = read.filter((record) =>
    asked.every(({ name, value }) => record[name] === value || isNamed(value, record.named)),
  );
  found.sort((one, other) => other.atMs - one.atMs || (one.message < other.message ? -1 : 1));
  return { messages: found.slice(0, limit), isWhole: found.length <= limit };
};
