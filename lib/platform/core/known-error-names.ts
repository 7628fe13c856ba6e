import { STATUS_CODES } from 'node:http';

const simple = (name: string): string => name.toLowerCase().replace(/[\s-]+/g, ' ');

/** The names of errors that the contract and HTTP know. */
const names = new Map(
  [
    ...Object.values(STATUS_CODES),
    ...['JSON Binding Error', 'Invalid Parameters', 'Invalid Token', 'Expired Token', 'Not Authorized'],
    ...['Resource Not Found', 'Internal Error', 'Access Denied', 'Request Rejected', 'Redirect', 'Errors'],
  ].map((name = '') => [simple(name), name]),
);

/** The name of an error, as it is told in its title or as its type, if it is a known one: any other text may be about somebody. */
export const errorNameIn = (text = ''): string | undefined =>
  text.length > 60 ? undefined : names.get(simple(text).replace(/^\d{3} /, ''));
