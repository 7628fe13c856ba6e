import type { DriveAnswered } from './driver.ts';
import { startDriver } from './drivers.ts';
import type { Environment } from './environment.ts';
import { ours } from './messages.ts';
import { atMost, figureOf, type Section } from './report.ts';

export type UploadScale = { bytes: number; repeats: number };

/** One large file, from S3 to the platform. */
export const measureUpload = async (
  { bundleOf, settings: env }: Environment,
  { bytes, repeats }: UploadScale,
): Promise<Section> => {
  const { url: module } = await bundleOf(new URL('../../functions/submission-upload.ts', import.meta.url));
  const answers: DriveAnswered[] = [];
  const asked = { kind: 'submission-upload' as const, batchSize: 1 };
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    // A process that has grown once does not grow again: each repeat has a fresh one.
    const driver = startDriver({ module, env });
    await driver.ask({ ...asked, messages: 2, fileBytes: 1024 });
    answers.push(await driver.ask({ ...asked, messages: 1, fileBytes: bytes }));
    await driver.close();
  }
  const of = (value: (answer: DriveAnswered) => number) => ({ [ours]: answers.map(value) });
  const grown = of(({ grownBytes }) => grownBytes / 1e6);
  return {
    title: `An upload of ${bytes >= 2 ** 30 ? `${bytes / 2 ** 30} GiB` : `${bytes / 2 ** 20} MiB`}`,
    about:
      'submission-upload as packaged, from S3 to the platform, after two small uploads. Memory is how far the resident ' +
      'memory rose above what it was before.',
    figures: [
      figureOf('Memory growth', 'MB', grown, [atMost(80, '≤ 80 MB', grown[ours] ?? [])]),
      figureOf(
        'Time',
        's',
        of(({ wallMs }) => wallMs / 1000),
      ),
      figureOf(
        'CPU',
        's',
        of(({ cpuMs }) => cpuMs / 1000),
      ),
    ],
  };
};
