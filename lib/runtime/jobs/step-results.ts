import type { AnySerdes, SerdesContext } from '@aws/durable-execution-sdk-js';

/**
 * The engine accepts 256 KB for one result and 100 MB for an execution, and charges by the gigabyte. With this limit, 3,000
 * operations have at most 12 MB.
 */
const maxBytes = 4 * 1024;

export type ResultStore = {
  writeJson(key: string, value: unknown): Promise<void>;
  readJson(key: string): Promise<unknown>;
};

/** A larger result is stored as an object, and the engine holds its key: `<prefix><execution>/<operation>.json`. */
export const createResults = (store: ResultStore, prefix: string): AnySerdes => ({
  serialize: async (value: unknown, { entityId, durableExecutionArn }: SerdesContext) => {
    if (value === undefined) return undefined;
    const text = JSON.stringify({ value });
    if (Buffer.byteLength(text) <= maxBytes) return text;
    const liesAt = `${prefix}${durableExecutionArn.split('/').at(-1)}/${entityId}.json`;
    await store.writeJson(liesAt, value);
    return JSON.stringify({ liesAt });
  },
  deserialize: async (text: string | undefined) => {
    if (text === undefined) return undefined;
    const { value, liesAt } = JSON.parse(text) as { value?: unknown; liesAt?: string };
    return liesAt === undefined ? value : store.readJson(liesAt);
  },
});
