import * as z from 'zod';
import { count, flag, type SettingGroups, type ValuesOf } from '../../runtime/aws/setting.ts';
import {
  letterSettings,
  secretSettings,
  storeSettings,
  tableSettings,
  telemetrySettings,
} from '../../runtime/aws/settings.ts';

const changesUrl = z
  .url({ protocol: /^https?$/, error: 'must be an address such as https://sis.example.edu/changes' })
  .refine((text) => {
    const { username, password, hash } = new URL(text);
    return username + password + hash === '';
  }, 'must have no user, password or fragment. Put a key into the secret');

export const pollSettings = {
  secrets: { prefix: secretSettings.prefix },
  letters: letterSettings,
  tables: { ledger: { ...tableSettings.ledger, schema: z.string() } },
  telemetry: telemetrySettings,
  store: storeSettings,
  changes: {
    bucket: {
      variable: 'CHANGES_BUCKET',
      schema: z.string(),
      deployed: { Ref: 'Files' },
      description: 'The bucket of the mapping, and of notices that make no message, under `change-poll/`.',
    },
    url: {
      variable: 'CHANGES_URL',
      schema: changesUrl.optional(),
      problem: ({ CHANGES_URL, CHANGES_PRIVATE }) =>
        CHANGES_PRIVATE !== 'true' && CHANGES_URL?.startsWith('http:')
          ? 'must be https, unless CHANGES_PRIVATE is true'
          : undefined,
      parameter: 'changesUrl',
      description:
        "Where `change-poll` reads the SIS’ change notices, as in `https://sis.example.edu/changes`. `''`: nowhere.",
    },
    name: {
      variable: 'CHANGES_NAME',
      schema: z.string().regex(/^[\w.-]{1,60}$/, 'must be at most 60 letters, digits and _.-'),
      usual: 'changes',
      description: 'The name under which the last id is kept. Another source of changes needs another name.',
    },
    secretName: {
      variable: 'CHANGES_SECRET',
      schema: z.string().optional(),
      parameter: 'changesSecret',
      description:
        "The name of the source’s secret behind `sis-relay/<stage>/`. `''`: requests are not signed.",
    },
    accept: {
      variable: 'CHANGES_ACCEPT',
      schema: z.string(),
      usual: 'application/json',
      parameter: 'changesAccept',
      description: 'The header `Accept` of requests to the source.',
    },
    afterParameter: {
      variable: 'CHANGES_AFTER_PARAMETER',
      schema: z.string(),
      usual: 'lastProcessedID',
      description: 'The parameter of the query that has the id after which a page begins.',
    },
    limitParameter: {
      variable: 'CHANGES_LIMIT_PARAMETER',
      schema: z.string(),
      usual: 'limit',
      description: 'The parameter of the query that has the size of a page.',
    },
    limit: {
      variable: 'CHANGES_LIMIT',
      schema: count,
      usual: 500,
      description: 'Number of notices of a page.',
    },
    from: {
      variable: 'CHANGES_FROM',
      schema: z.string().optional(),
      description: 'The id after which the first page begins.',
    },
    maximumBytes: {
      variable: 'CHANGES_MAXIMUM_BYTES',
      schema: count,
      usual: 16 * 1024 ** 2,
      description: 'Maximum size of a page, in bytes.',
    },
    timeoutMs: {
      variable: 'CHANGES_TIMEOUT_MS',
      schema: count,
      usual: 15_000,
      description: 'Time limit of a page, in milliseconds.',
    },
    isPrivate: {
      variable: 'CHANGES_PRIVATE',
      schema: flag,
      usual: 'false',
      description: '`true`: the address may be one that is not public, and plain `http`.',
    },
  },
} satisfies SettingGroups;

export type PollSettings = ValuesOf<typeof pollSettings>;
