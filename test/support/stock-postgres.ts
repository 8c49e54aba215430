import { makeTestFolder } from './postgres.ts'
import { type StockOptions, type StockPostgres, startStockServer } from './stock-server.ts'

/** A stock server in a folder that the next run removes, should this one be killed. */
export async function startStockPostgres(options: StockOptions = {}): Promise<StockPostgres> {
  return startStockServer(await makeTestFolder(), options)
}
