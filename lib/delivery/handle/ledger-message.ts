import { createHash } from 'node:crypto';
import type { SQSRecord } from 'aws-lambda';
import { draftOf, type Message } from '../../message/message.ts';
import type { PlatformIds } from '../../message/sis-ids.ts';
import { unorderedVersionOf, versionOf } from '../../message/version.ts';
import type { Digester } from '../ledger/digest.ts';
import { digestedName } from '../ledger/item.ts';
import type { LedgerMessage } from '../ledger/judge.ts';
import type { Integration } from './integration.ts';
import { type Delivery, isDecided } from './sqs-delivery.ts';

/**
 * The key of the changed resource; undefined if the message is not valid, or if it is not known what its ids of the SIS stand for.
 */
export const resourceIn = <Data>(
  integration: Integration<Data>,
  body: string,
  { nowMs, ids }: { nowMs: number; ids: PlatformIds | undefined },
): string | undefined => {
  try {
    const message = draftOf(body, integration, nowMs).message(ids);
    return shortened(integration.resource(message.data, message));
  } catch {
    return undefined;
  }
};

type EntryInput<Data> = {
  integration: Integration<Data>;
  message: Message<Data>;
  record: SQSRecord;
  delivery: Delivery;
};

export const ledgerMessageOf = async <Data>(
  { integration, message, record, delivery }: EntryInput<Data>,
  digest: Digester | undefined,
): Promise<LedgerMessage> => {
  const { effect } = integration;
  const place = placeInLedger(integration, message);
  return {
    ...place,
    timeMs: Date.parse(message.time),
    messageId: record.messageId,
    replays: delivery.replays,
    decidedMs: isDecided(record) ? delivery.sentMs : undefined,
    digests: effect ? await digestsOf(place.resource, effect.wanted(message.data), digest) : {},
  };
};

/** Where the ledger keeps what it knows of a message. */
export const placeInLedger = <Data>(
  integration: Integration<Data>,
  message: Message<Data>,
): Pick<LedgerMessage, 'resource' | 'fields' | 'version' | 'repeatable'> => {
  const { repeatable: asked } = integration;
  const repeatable = typeof asked === 'function' ? asked(message.data) : asked;
  return {
    resource: shortened(integration.resource(message.data, message)),
    fields: fieldsOf(integration, message).map(repeatable ? shortened : named),
    version: repeatable ? versionOf(message, integration.name) : unorderedVersionOf(message),
    repeatable,
  };
};

const wholeResource = ['whole'];

export const fieldsOf = <Data>(integration: Integration<Data>, message: Message<Data>): readonly string[] =>
  integration.fields?.(message.data, message) ?? wholeResource;

/** By field; a field without a value, or without a key to digest it, has none. */
export const digestsOf = async (
  resource: string,
  fields: Record<string, string | undefined>,
  digest: Digester | undefined,
): Promise<Record<string, string>> => {
  const made: Record<string, string> = {};
  // Sequential, because only the first in a container waits: the cost per message counts.
  for (const [field, value] of Object.entries(fields)) {
    const known = value === undefined ? undefined : await digest?.([resource, field, value]);
    if (known !== undefined) made[field] = known;
  }
  return made;
};

/** If the resource has several, the field of a message that must not be sent twice contains the message itself. */
const named = (field: string): string => (field.includes('/') ? digestedName(field) : field);

/** DynamoDB's keys have at most 2,048 bytes; a message's source and id may be longer. */
const maxKeyLength = 512;

/** The first word stays: the function's role gets its right to the resource by it. */
const shortened = (resource: string): string =>
  resource.length > maxKeyLength
    ? `${resource.split('/')[0]}/${createHash('sha256').update(resource).digest('base64url')}`
    : resource;
