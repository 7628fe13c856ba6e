/** Within one container, messages about the same resource take turns instead of finding it locked. */
export class ResourceLocks {
  readonly #locked = new Map<string, PromiseWithResolvers<void>>();

  async lock(resource: string): Promise<void> {
    for (let locked = this.#locked.get(resource); locked; locked = this.#locked.get(resource))
      await locked.promise;
    this.#locked.set(resource, Promise.withResolvers());
  }

  unlock(resource: string): void {
    this.#locked.get(resource)?.resolve();
    this.#locked.delete(resource);
  }
}
