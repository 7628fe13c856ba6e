import type { Request } from '../core/request.ts';

/** What is added to a request to prove who sends it. */
export type Proof = { query: Record<string, string>; headers: Record<string, string> };

/** The path with its whole query, the proof last. */
export const provedPath = ({ path, query }: Request, proof: Proof): string => {
  let proved = path;
  let mark = '?';
  const add = (name: string, value: string): void => {
    proved += `${mark}${encoded(name)}=${encoded(value)}`;
    mark = '&';
  };
  for (const [name, value] of query) add(name, value);
  for (const name in proof.query) add(name, proof.query[name] ?? '');
  return proved;
};

/** Ids and signatures need no encoding: to look is cheaper than to do it. */
const encoded = (text: string): string => (/^[\w.~-]*$/.test(text) ? text : encodeURIComponent(text));

/** What no error may repeat, in every spelling: an error page shows the address that it was asked for, however it writes it. */
export const unspeakable = (proof: Proof, secrets: string[] = []): string[] => {
  const words = [...Object.values(proof.query), ...Object.values(proof.headers)]
    .flatMap((value) => value.split(' '))
    .filter((word) => word.length >= 20);
  return [...words, ...secrets.filter(Boolean)].flatMap((word) => [
    word,
    encodeURIComponent(word),
    JSON.stringify(word).slice(1, -1),
  ]);
};
