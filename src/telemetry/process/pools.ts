import { Gauge, type Registry } from 'prom-client'

/** Of a connection pool of `pg`. */
export type PoolCounts = { readonly totalCount: number; readonly idleCount: number; readonly waitingCount: number }

/** The connection pools of this process, read when they are asked for. */
export function registerPools(registry: Registry, pools: Record<string, PoolCounts>): void {
  const all = Object.entries(pools)
  new Gauge({
    name: 'postgres_pool_connections',
    help: 'Open connections to Postgres, by pool and whether a statement runs on them',
    labelNames: ['pool', 'state'],
    registers: [registry],
    collect() {
      for (const [pool, { totalCount, idleCount }] of all) {
        this.set({ pool, state: 'idle' }, idleCount)
        this.set({ pool, state: 'busy' }, totalCount - idleCount)
      }
    },
  })
  new Gauge({
    name: 'postgres_pool_waiting',
    help: 'Statements that wait for a connection, by pool',
    labelNames: ['pool'],
    registers: [registry],
    collect() {
      for (const [pool, { waitingCount }] of all) this.set({ pool }, waitingCount)
    },
  })
}
