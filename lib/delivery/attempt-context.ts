import type { Integration, IntegrationContext } from '../integration.ts';
import type { Message } from '../message.ts';
import type { CallReport } from '../platform/client.ts';
import type { Services } from './services.ts';

/** What one attempt lets its integration touch, and what has come of it. */
export type AttemptContext = {
  /** Of the platform. */
  calls: readonly CallReport[];
  /** What the integration says of its success. */
  notes: readonly string[];
  /** For these fields of the resource. */
  forFields(fields: readonly string[]): IntegrationContext;
  /** Closes the files that were not read to their end. */
  close(): void;
};

export const createAttemptContext = <Data>(
  { integration, message }: { integration: Integration<Data>; message: Message<Data> },
  { services, timeLimit }: { services: Services; timeLimit(): AbortSignal },
): AttemptContext => {
  const calls: CallReport[] = [];
  const notes: string[] = [];
  const opened: AbortController[] = [];
  return {
    calls,
    notes,
    forFields: (fields) => {
      const signal = timeLimit();
      return {
        platform: services.platform.for({
          actor: integration.actor?.(message.data),
          operations: integration.operations,
          signal,
          onCall: (call) => {
            calls.push(call);
            services.observe.call(call);
          },
        }),
        openFile: (uri, maximumBytes) => {
          const file = new AbortController();
          opened.push(file);
          return services.files.open(uri, { maximumBytes, signal: AbortSignal.any([signal, file.signal]) });
        },
        readSecret: services.readSecret,
        limits: services.limits,
        note: (text) => notes.push(text),
        fields,
      };
    },
    close: () => {
      for (const file of opened) file.abort();
    },
  };
};
