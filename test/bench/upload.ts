import type { DriveAnswered } from './driver.ts';
import { interleaved, valuesOf, withDrivers } from './drivers.ts';
import type { Environment } from './environment.ts';
import { atMost, type Section, spreadsOf } from './figures.ts';
import { ours } from './messages.ts';
import { continued } from './statistics.ts';

export type UploadScale = { bytes: number; repeats: number };

/** One large file, from S3 to the platform. */
export const measureUpload = async (
  environment: Environment,
  { bytes, repeats }: UploadScale,
): Promise<Section> => {
  const { settings } = environment;
  const axios = (await environment.bundleOf(new URL('peers/upload-axios.ts', import.meta.url))).url;
  const subjects = {
    [ours]: {
      module: (await environment.bundleOf(new URL('../../functions/submission-upload.ts', import.meta.url)))
        .url,
      env: settings,
    },
    'axios, no redirects': { module: axios, env: settings },
    axios: { module: axios, env: { ...settings, FOLLOW_REDIRECTS: 'true' } },
    'fetch and FormData': {
      module: (await environment.bundleOf(new URL('peers/upload-fetch.ts', import.meta.url))).url,
      env: settings,
    },
  };
  let answers: Record<string, DriveAnswered[]> = {};
  for (let repeat = 0; repeat < repeats; repeat += 1) {
    // A process that has grown once does not grow again: each repeat has fresh ones.
    const measured = await withDrivers(subjects, async (drivers) => {
      const asked = { kind: 'submission-upload' as const, messages: 1, batchSize: 1 };
      await interleaved(drivers, { asked: () => ({ ...asked, fileBytes: 1024 }), rounds: 0, warmUps: 2 });
      return interleaved(drivers, { asked: () => ({ ...asked, fileBytes: bytes }), rounds: 1, warmUps: 0 });
    });
    answers = continued(answers, measured);
  }
  const grown = valuesOf(answers, ({ grownBytes }) => grownBytes / 1e6);
  return {
    title: `An upload of ${bytes >= 2 ** 30 ? `${bytes / 2 ** 30} GiB` : `${bytes / 2 ** 20} MiB`}`,
    about:
      'submission-upload as packaged, from S3 to the platform, after two small uploads. Memory is how far the resident ' +
      'memory rose above what it was before.',
    figures: [
      {
        name: 'Memory growth',
        unit: 'MB',
        values: spreadsOf(grown),
        floors: [atMost(80, '≤ 80 MB', grown[ours] ?? [])],
      },
      {
        name: 'Time',
        unit: 's',
        values: spreadsOf(valuesOf(answers, ({ wallMs }) => wallMs / 1000)),
        floors: [],
      },
      {
        name: 'CPU',
        unit: 's',
        values: spreadsOf(valuesOf(answers, ({ cpuMs }) => cpuMs / 1000)),
        floors: [],
      },
    ],
  };
};
