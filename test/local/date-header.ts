import type { ServerResponse } from 'node:http';

/** Node's own header tells the machine's time, also where this process has another: the SDK would take the difference for a wrong clock. */
export const tellDate = (response: ServerResponse): void => {
  response.setHeader('Date', new Date().toUTCString());
};
