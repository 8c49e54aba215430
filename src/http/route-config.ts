declare module 'fastify' {
  interface FastifyContextConfig {
    role?: 'viewer' | 'support' | 'administrator'
    clear?: boolean
  }
}

export {}
