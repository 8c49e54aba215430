import { z } from 'zod'

/** Such as `pt-BR` or `en`. */
export const TEMPLATE_LOCALE = /^[a-z]{2,3}(-[A-Z]{2})?$/

export const DEFAULT_LOCALE = 'pt-BR'

export const localeSchema = z
  .string()
  .regex(TEMPLATE_LOCALE, 'must be a language, or a language and a country, such as en or pt-BR')
  .meta({ examples: ['pt-BR'] })
