import { lookUpOperations } from '../../crosswalk/look-up.ts';
import type { Draft } from '../../message/message.ts';
import type { Priority } from '../../message/priority.ts';
import type { PlatformIds } from '../../message/sis-ids.ts';
import type { CallReport } from '../../runtime/telemetry/call-report.ts';
import type { Services } from './services.ts';

type LookUpOptions = { services: Services; priority: Priority; sentMs: number; signal: AbortSignal };

/** Looks up what the SIS' ids of a message stand for. */
export class SisIdLookUp<Data> {
  /** The calls of the platform that this took. */
  readonly calls: CallReport[] = [];
  readonly #draft: Draft<Data>;
  readonly #options: LookUpOptions;

  constructor(draft: Draft<Data>, options: LookUpOptions) {
    this.#draft = draft;
    this.#options = options;
  }

  /** @throws MessageFailure of kind `unknown-id` or `ambiguous-id`, and any error of AWS or the platform. */
  ids(): Promise<PlatformIds> {
    const { services, priority, sentMs, signal } = this.#options;
    const { sisIds, orgUnitId } = this.#draft;
    const platform = services.platform.for({
      actor: undefined,
      operations: lookUpOperations,
      priority,
      signal,
      onCall: (call) => {
        this.calls.push(call);
        services.observe.call(call);
      },
    });
    return services.crosswalk.platformIds(sisIds, { platform, orgUnitId, sentMs });
  }

  /** Whether ids of the SIS now stand for others than this container remembers. */
  async haveChanged(before: PlatformIds): Promise<boolean> {
    this.#options.services.crosswalk.forget(this.#draft.sisIds);
    const now = await this.ids().catch(() => before);
    return Object.entries(now).some(([field, id]) => before[field] !== id);
  }
}
