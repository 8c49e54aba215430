const CPF_SHAPE = /^\d{3}\.?\d{3}\.?\d{3}-?\d{2}$/
const CNPJ_SHAPE = /^[0-9A-Z]{2}\.?[0-9A-Z]{3}\.?[0-9A-Z]{3}\/?[0-9A-Z]{4}-?\d{2}$/i

const CPF_WEIGHTS = [11, 10, 9, 8, 7, 6, 5, 4, 3, 2]
const CNPJ_WEIGHTS = [6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2]

/** Upper case without punctuation: the form in which documents are stored, compared and hashed. */
export function normaliseDocument(document: string): string {
  return document.toUpperCase().replace(/[\s./-]/g, '')
}

export function isValidCpf(document: string): boolean {
  return CPF_SHAPE.test(document.trim()) && hasValidCheckDigits(normaliseDocument(document), CPF_WEIGHTS)
}

/** Also the alphanumeric CNPJ issued from July 2026: a character is worth its ASCII code − 48, so digits keep their value. */
export function isValidCnpj(document: string): boolean {
  return CNPJ_SHAPE.test(document.trim()) && hasValidCheckDigits(normaliseDocument(document), CNPJ_WEIGHTS)
}

export function isValidCpfCnpj(document: string): boolean {
  return isValidCpf(document) || isValidCnpj(document)
}

/** Repeated digits such as 000.000.000-00 have correct check digits but are never issued. */
function hasValidCheckDigits(document: string, weights: readonly number[]): boolean {
  if (/^(.)\1*$/.test(document)) return false
  const values = Array.from(document, character => character.charCodeAt(0) - 48)
  const first = checkDigit(values.slice(0, -2), weights.slice(1))
  const second = checkDigit(values.slice(0, -1), weights)
  return values.at(-2) === first && values.at(-1) === second
}

function checkDigit(values: readonly number[], weights: readonly number[]): number {
  const rest = values.reduce((sum, value, index) => sum + value * weights[index]!, 0) % 11
  return rest < 2 ? 0 : 11 - rest
}
