import { STATUS_CODES } from 'node:http';

const simple = (name: string): string => name.toLowerCase().replace(/[\s-]+/g, ' ');

/** The names of errors in HTTP and in the API's documentation. */
const names = new Map(
  [
    ...Object.values(STATUS_CODES),
    ...['JSON Binding Error', 'Invalid Parameters', 'Invalid Token', 'Expired Token', 'Not Authorized'],
    ...['Resource Not Found', 'Internal Error', 'Access Denied', 'Request Rejected', 'Redirect', 'Errors'],
  ].map((name = '') => [simple(name), name]),
);

/** The known name of an error in its title or type. Any other text may be about a person, and is not logged. */
export const errorNameIn = (text = ''): string | undefined =>
  text.length > 60 ? undefined : names.get(simple(text).replace(/^\d{3} /, ''));
