import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

const COST = { N: 32_768, r: 8, p: 1, maxmem: 64 * 1024 * 1024 }

/** Returns `scrypt$<salt>$<hash>`, both in base64. */
export async function hashPassword(password: string, salt: Buffer = randomBytes(16)): Promise<string> {
  return `scrypt$${salt.toString('base64')}$${(await derive(password, salt)).toString('base64')}`
}

export async function passwordMatches(password: string, stored: string): Promise<boolean> {
  const [, salt, hash] = stored.split('$')
  return timingSafeEqual(await derive(password, Buffer.from(salt!, 'base64')), Buffer.from(hash!, 'base64'))
}

function derive(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, 32, COST, (error, key) => (error ? reject(error) : resolve(key)))
  })
}

/** Compared when the user does not exist, so that the response time does not reveal which names exist. */
export const DUMMY_PASSWORD_HASH = `scrypt$${Buffer.alloc(16).toString('base64')}$${Buffer.alloc(32).toString('base64')}`
