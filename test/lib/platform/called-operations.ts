import type { Operation } from '../../../lib/platform/client/operation.ts';
import { operations } from '../../../lib/platform/resources/operations.ts';

/** The operations that the local platform's log of requests tells of. */
export const calledOperations = (requests: { method: string; path: string }[]): Operation<unknown>[] =>
  operations.filter(({ method, component, path }) => {
    const pattern = path.replace(/\{\w+\}/g, '[^/]+');
    const whole = new RegExp(`^/svc/api${component === undefined ? '' : `/${component}/[\\d.]+`}${pattern}$`);
    return requests.some((request) => request.method === method && whole.test(request.path));
  });
