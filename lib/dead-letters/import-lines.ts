import { RefusedError, UsageError } from '../deployment/command-errors.ts';
import type { Target } from '../deployment/target.ts';
import { linesIn } from '../publish/lines.ts';

/** The lines of a file, or of an object as in `s3://bucket/key`. @throws RefusedError where it cannot be read. */
export async function* linesOf(address: string, target: Target): AsyncGenerator<string> {
  const [, bucket, key] = /^s3:\/\/([^/]+)\/(.+)$/.exec(address) ?? [];
  try {
    if (bucket === undefined) yield* linesIn(address);
    else {
      const { GetObjectCommand } = await import('@aws-sdk/client-s3');
      const s3 = await target.s3();
      const { Body } = await s3.send(new GetObjectCommand({ Bucket: bucket, Key: key }));
      yield* ((await Body?.transformToString()) ?? '').split('\n');
    }
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const { name, code } = error as { name?: string; code?: string };
    if (code === 'ENOENT' || name === 'NoSuchKey') throw new RefusedError(`There is no ${address}.`);
    if (bucket === undefined) throw new RefusedError(`${address} cannot be read: ${code}`);
    // S3 answers the same to somebody who may not list the bucket, whether the object is there or not.
    if (name === 'AccessDenied') throw new RefusedError(`There is no ${address}, or you may not read it.`);
    throw error;
  }
}
