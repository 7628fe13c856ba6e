import type * as z from 'zod';
import { ownText, type SafeText } from '../../message/safe-text.ts';

/** One API call of the platform: all that the client, the scopes and the ledger need to know about it. */
export type Operation<Answer> = {
  /** Its name in configuration, metrics and messages, such as `set-grade-value`. */
  name: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The product component of the path; undefined for a path outside the components. */
  component: Component | undefined;
  /** The version if none is configured for its component. */
  defaultVersion?: string;
  /** Below the component's version, with `{placeholders}` for ids; collections end in `/`, items do not. */
  path: string;
  /** Names of the query parameters that the platform requires. */
  query?: readonly string[];
  /** The OAuth scope it needs. */
  scope: string | undefined;
  /** It is sent without a credential. */
  anonymous?: true;
  /** Whether it may be sent twice without harm. */
  repeatable: boolean;
  /** The form of a success: any other answer is a failure, whatever its status. */
  answer: Success<Answer>;
  /** Where a success repeats an id of the path under another name: that name and the placeholder. */
  repeats?: Record<string, string>;
};

/**
 * JSON of this shape, unknown fields kept; a file; or `acknowledged`: an empty answer, or JSON that is no error, as a platform
 * may return what it was sent.
 */
type Success<Answer> = z.ZodType<Answer> | FileAnswer | 'acknowledged';

type Component = 'lp' | 'le' | 'eP';

/** A success is a file whose content type matches. */
export type FileAnswer = { file: RegExp };

export const isFileAnswer = (answer: Operation<unknown>['answer']): answer is FileAnswer =>
  answer !== 'acknowledged' && 'file' in answer;

/** An operation as it is declared. */
type OperationDeclaration<Answer> = Omit<
  Operation<Answer>,
  'method' | 'component' | 'path' | 'repeatable' | 'answer'
> & {
  /** Its method, its component, and its path below the component's version. */
  call: `${Operation<Answer>['method']} /${string}`;
  /** Default: a GET may be sent twice, and nothing else. */
  repeatable?: boolean;
};

const declare = <Answer>(
  { call, ...declared }: OperationDeclaration<Answer>,
  answer: Success<Answer>,
): Operation<Answer> => {
  const [, method = '', component, path = ''] = /^(\w+) (?:\/(lp|le|eP)(?=\/))?(.+)$/.exec(call) ?? [];
  return {
    repeatable: method === 'GET',
    ...declared,
    method: method as Operation<Answer>['method'],
    component: component as Component | undefined,
    path,
    answer,
  };
};

/** Declares an operation whose success only acknowledges; its content is not read. */
export const acknowledged = (declared: OperationDeclaration<undefined>): Operation<undefined> =>
  declare(declared, 'acknowledged');

/** Declares an operation whose success carries JSON of the given shape. */
export const reading = <Answer>({
  answer,
  ...declared
}: OperationDeclaration<Answer> & { answer: z.ZodType<Answer> }): Operation<Answer> =>
  declare(declared, answer);

/** Declares an operation whose success is a file; `file` says of which content types. */
export const downloading = ({
  file = /^/,
  ...declared
}: OperationDeclaration<never> & { file?: RegExp }): Operation<never> => declare(declared, { file });

export type OperationOverride = {
  version?: string | undefined;
  path?: string | undefined;
  scope?: string | undefined;
};

/** An operation as this site is configured to call it. */
export type ConfiguredOperation<Answer> = Operation<Answer> & {
  version: string | undefined;
  /** Its path, split: the placeholders have odd indexes. */
  parts: string[];
};

export const configured = <Answer>(
  operation: Operation<Answer>,
  { version, path = operation.path, scope = operation.scope }: OperationOverride = {},
): ConfiguredOperation<Answer> => ({ ...operation, version, path, scope, parts: path.split(/\{(\w+)\}/) });

/** The version of each component. Optional if all its operations have a default version. */
export type Versions = { lp: string; le: string; eP?: string };

const isPlain = (value: number | string | undefined): boolean =>
  typeof value === 'number'
    ? Number.isSafeInteger(value) && value > 0
    : value !== undefined && /^[A-Za-z0-9-]+([._][A-Za-z0-9-]+)*$/.test(value);

/**
 * Placeholders take positive integers and plain words only, so that nothing in a message can alter a path. They are ids, which logs have
 * on purpose.
 */
export const pathOf = (
  operation: ConfiguredOperation<unknown>,
  options: { apiRoot: string; versions: Versions },
  values: Record<string, number | string>,
): SafeText => {
  const path = operation.parts.reduce((before, part, at) => {
    if (at % 2 === 0) return before + part;
    const value = Object.hasOwn(values, part) ? values[part] : undefined;
    if (!isPlain(value)) throw new TypeError(`${operation.name}: no usable value for {${part}} of its path`);
    return before + value;
  });
  const { component, defaultVersion } = operation;
  const version = operation.version ?? (component && options.versions[component]) ?? defaultVersion;
  const whole = `${options.apiRoot}${component === undefined ? '' : `/${component}/${version}`}${path}`;
  // A query is never signed, and servers decode `+` and escapes differently, so that a signature of such a path may be wrong.
  if (!path.startsWith('/') || !/^(\/[\w.~-]+)+\/?$/.test(whole))
    throw new TypeError(`${operation.name}: its path, as configured, is not of plain words: ${whole}`);
  return ownText(whole);
};
