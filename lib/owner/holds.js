/**
 * The providers that need an owner's sandbox.
 * @module dsh-subprocess-native/lib/owner/holds
 */

/** How long a provider that Cordis tears down with us may take to begin with it. */
const BEGIN_MS = 1000

/** Who holds the sandbox now. */
export class Holds {
  constructor() {
    this.holders = new Set()
    this.changed = () => {}
  }

  /**
   * @param {import('../hold.js').Holder} holder
   * @returns {() => void} lets go
   */
  take(holder) {
    // An object of its own: one provider may hold twice.
    const held = { holder }
    this.holders.add(held)
    return () => {
      if (this.holders.delete(held)) this.changed()
    }
  }

  /** Whether anybody runs commands. */
  isBusy() {
    return [...this.holders].some(({ holder }) => holder.isBusy())
  }

  /**
   * Waits until every provider that is being torn down has let go. One that is not does not depend on us, and would
   * be waited for in vain.
   * @returns {Promise<void>}
   */
  async released() {
    if (this.holders.size > 0 && !this.areLeaving()) await this.until(() => this.areLeaving(), BEGIN_MS)
    await this.until(() => ![...this.holders].some(({ holder }) => holder.isLeaving()))
  }

  areLeaving() {
    return [...this.holders].every(({ holder }) => holder.isLeaving())
  }

  /** Looks again at every change, and for `ms` also in between, as nobody says when a disposal begins. */
  until(condition, ms) {
    return new Promise(resolve => {
      if (condition()) return resolve()
      let timer, end
      const look = late => {
        if (!late && !condition()) return
        clearInterval(timer)
        clearTimeout(end)
        this.changed = () => {}
        resolve()
      }
      this.changed = () => look(false)
      if (ms === undefined) return
      timer = setInterval(() => look(false), 5)
      end = setTimeout(() => look(true), ms)
    })
  }
}
