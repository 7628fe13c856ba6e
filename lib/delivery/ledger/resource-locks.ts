/** Within one container, messages about the same resource take turns instead of finding it locked. */
export class ResourceLocks {
  readonly #held = new Map<string, PromiseWithResolvers<void>>();

  async lock(resource: string): Promise<void> {
    for (let held = this.#held.get(resource); held; held = this.#held.get(resource)) await held.promise;
    this.#held.set(resource, Promise.withResolvers());
  }

  unlock(resource: string): void {
    this.#held.get(resource)?.resolve();
    this.#held.delete(resource);
  }
}
