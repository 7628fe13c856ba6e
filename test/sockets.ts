import { expect } from 'vitest';
import { useSockets } from './local/aws/without-sockets.ts';

/** The rooms of HTTP itself, as test/README.md names them. With a seed, as each week, all files use it. */
const aboutHttp = /test\/(lib\/(platform\/(auth|client)|runtime\/(aws|files))|local)\//;

const path = expect.getState().testPath?.replaceAll('\\', '/') ?? '';
useSockets(process.env.SEED !== undefined || aboutHttp.test(path));
