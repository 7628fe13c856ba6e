import type { Arrival } from './http/arrival.ts';

/** `userId` is whom the request claims to come from; `status` stays null as long as no answer was given. */
type LoggedRequest = {
  at: string;
  method: string;
  path: string;
  queryNames: string[];
  userId: number | null;
  status: number | null;
};

/** Every request but those to the control API, in order; never a value of a query. */
export function requestLog() {
  const entries: LoggedRequest[] = [];
  return {
    entries: () => entries,
    begin({ method, path, query }: Arrival, userId: number | null): LoggedRequest {
      const at = new Date().toISOString();
      const entry = { at, method, path, queryNames: [...new Set(query.keys())], userId, status: null };
      entries.push(entry);
      return entry;
    },
  };
}
