import type * as z from 'zod';

/** One API call of the platform, declared once: everything that the client, the scopes and the ledger need to know of it. */
export type Operation<Answer> = {
  /** Its name in configuration, metrics and messages, such as `set-grade-value`. */
  name: string;
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** The product component of the path; undefined for what lies beside the components. */
  component: 'lp' | 'le' | undefined;
  /** Below the component's version, with `{placeholders}` for ids; collections end in `/`, items do not. */
  path: string;
  /** The OAuth scope it needs. */
  scope: string | undefined;
  /** May it be sent twice without harm? */
  repeatable: boolean;
  /** What a success must carry; undefined: nothing is read. Unknown fields are kept. */
  answer: z.ZodType<Answer> | undefined;
};

/** Declares an operation whose success carries no body that we read. */
export const operation = (declared: Omit<Operation<undefined>, 'answer'>): Operation<undefined> => ({
  ...declared,
  answer: undefined,
});

/** Declares an operation whose success carries JSON of the given shape. */
export const reading = <Answer>(declared: Operation<Answer>): Operation<Answer> => declared;

/** What a site does otherwise. */
export type OperationOverride = {
  version?: string | undefined;
  path?: string | undefined;
  scope?: string | undefined;
};

/** An operation as this site does it. */
export type Configured<Answer> = Operation<Answer> & { version: string | undefined };

export const configured = <Answer>(
  operation: Operation<Answer>,
  override: OperationOverride = {},
): Configured<Answer> => ({
  ...operation,
  version: override.version,
  path: override.path ?? operation.path,
  scope: override.scope ?? operation.scope,
});

const isPlain = (value: number | string | undefined): boolean =>
  typeof value === 'number'
    ? Number.isSafeInteger(value) && value > 0
    : value !== undefined && /^[A-Za-z0-9-]+$/.test(value);

/** Placeholders take positive integers and plain words only, so that nothing in a message can alter a path. */
export const pathOf = (
  operation: Configured<unknown>,
  options: { apiRoot: string; versions: { lp: string; le: string } },
  values: Record<string, number | string>,
): string => {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = Object.hasOwn(values, name) ? values[name] : undefined;
    if (!isPlain(value)) throw new TypeError(`${operation.name}: no usable value for {${name}} of its path`);
    return String(value);
  });
  const { component, version = component && options.versions[component] } = operation;
  const whole = `${options.apiRoot}${component === undefined ? '' : `/${component}/${version}`}${path}`;
  // A query is never signed, and servers differ on `+` and escapes: of a path that holds them, no signature is sure to be right.
  if (!/^(\/[\w.~-]+)+\/?$/.test(whole))
    throw new TypeError(`${operation.name}: its path, as configured, is not of plain words: ${whole}`);
  return whole;
};
