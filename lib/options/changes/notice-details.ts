import { isOfNotice, valueAt } from '../../delivery/mapping/events.ts';
import {
  columnsOfOrigin,
  type LookUp,
  type Mapping,
  type MessageRule,
} from '../../delivery/mapping/mapping.ts';
import { ownText, type SafeText, safe } from '../../message/safe-text.ts';
import { isDeletion } from './events.ts';
import type { Notice } from './page.ts';
import type { Source } from './source.ts';

/** A notice with the answers that its mapping asks for under `lookUp`, or why there are none. */
export type CompletedNotice =
  | { notice: Notice; problem?: undefined }
  | { problem: SafeText; notice?: undefined };

/**
 * Asks the source for what a notice names only by an id. Each address is asked once in a run: the sections of a thousand registrations are
 * few.
 */
export const createLookUps = (source: Pick<Source, 'get'>, { messages, lookUps }: Mapping) => {
  const answers = new Map<string, Promise<unknown>>();
  const answerTo = (path: string, signal: AbortSignal): Promise<unknown> => {
    const known = answers.get(path) ?? source.get(path, signal);
    answers.set(path, known);
    return known;
  };
  return async (notice: Notice, signal: AbortSignal): Promise<CompletedNotice> => {
    const wanted = wantedBy(
      messages.filter(
        (message) => isOfNotice(message, notice) || isDeletion(notice, { messages: [message] }),
      ),
      lookUps,
    );
    let full = notice;
    for (const { name, path } of lookUps) {
      if (!wanted.has(name)) continue;
      const asked = pathFor(full, path);
      // What it is asked by is not given: neither is what it would say.
      if (asked === undefined) continue;
      const answer = await answerTo(asked, signal);
      if (answer === undefined)
        return { problem: safe`the source does not know what lookUp.${ownText(name)} asks for` };
      full = { ...full, lookUp: { ...Object(full.lookUp), [name]: answer } };
    }
    return { notice: full };
  };
};

const prefix = 'lookUp.';

const namesIn = (paths: readonly string[]): string[] =>
  paths.flatMap((path) =>
    path.startsWith(prefix) ? (path.slice(prefix.length).split(/[.[]/)[0] ?? []) : [],
  );

/** A look-up may itself be by the answer to one before it. */
const wantedBy = (messages: readonly MessageRule[], lookUps: readonly LookUp[]): Set<string> => {
  const origins = messages.flatMap(({ fields, when, time, removed }) => [
    ...[...fields, ...(removed?.fields ?? [])].flatMap(({ from }) => from ?? []),
    ...when.map(({ origin }) => origin),
    ...(time ? [time] : []),
  ]);
  const wanted = new Set(namesIn(origins.flatMap(columnsOfOrigin)));
  for (const { name, path } of lookUps.toReversed())
    if (wanted.has(name)) for (const each of namesIn(columnsOfOrigin({ parts: path }))) wanted.add(each);
  return wanted;
};

const pathFor = (notice: Notice, path: LookUp['path']): string | undefined => {
  let whole = '';
  for (const part of path) {
    const value = 'text' in part ? part.text : valueAt(notice, part.column);
    if (typeof value !== 'string' && typeof value !== 'number') return undefined;
    whole += 'text' in part ? part.text : encodeURIComponent(String(value).toWellFormed());
  }
  return whole;
};
