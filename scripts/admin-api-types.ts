/**
 * TypeScript types for openapi-fetch from the admin routes of our OpenAPI document. src/main/admin-api-types.test.ts writes the result
 * to admin/src/api/schema.d.ts (`npm run admin:types`) and compares it in every run, so a changed route breaks the build of the UI.
 */

export type Schema = {
  $ref?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: boolean | Schema
  items?: Schema
  prefixItems?: Schema[]
  anyOf?: Schema[]
  oneOf?: Schema[]
  allOf?: Schema[]
  enum?: unknown[]
  const?: unknown
  description?: string
}
type Content = Record<string, { schema?: Schema }>
type Parameter = { name: string; in: string; required?: boolean; schema: Schema; description?: string }
type Operation = {
  summary?: string
  parameters?: Parameter[]
  requestBody?: { required?: boolean; content: Content }
  responses: Record<string, { content?: Content }>
}
export type ApiDocument = {
  paths: Record<string, Record<string, Operation>>
  components?: { schemas?: Record<string, Schema> }
}

export function adminApiTypes({ paths, components }: ApiDocument): string {
  const ours = Object.entries(paths).filter(([path]) => path.startsWith('/admin'))
  const used = usedSchemas(ours, components?.schemas ?? {})
  return `// Generated from the OpenAPI document: \`npm run admin:types\`. Do not edit.
export interface paths {
${ours.map(([path, item]) => `  ${quote(path)}: {\n${pathItem(item)}\n  }`).join('\n')}
}

type None = Record<string, never>
type Answer<Content> = { headers: Record<string, string>; content: Content }

export interface components {
  schemas: {
${[...used].map(([name, schema]) => `    ${key(name)}: ${typeOf(schema, 4)}`).join('\n')}
  }
}
`
}

const pathItem = (item: Record<string, Operation>) =>
  Object.entries(item)
    .map(([method, operation]) => `${comment(operation.summary, 4)}    ${method}: ${operationType(operation)}`)
    .join('\n')

/** Refusals are left out: the client makes an ApiProblem of each, whatever the route says. */
function operationType({ parameters = [], requestBody, responses }: Operation): string {
  const places = ['query', 'path'].flatMap(place => parametersIn(place, parameters))
  const answers = Object.entries(responses).flatMap(([status, { content }]) =>
    content?.['application/problem+json'] ? [] : [`${key(status)}: ${answerType(content)}`],
  )
  const optional = requestBody?.required ? '' : '?'
  return `{
      parameters: ${places.length > 0 ? `{\n${places.join('\n')}\n      }` : 'None'}
${requestBody ? `      requestBody${optional}: { content: ${contentType(requestBody.content, 6)} }\n` : ''}      responses: { ${answers.join('; ')} }
    }`
}

const answerType = (content: Content | undefined) => (content ? `Answer<${contentType(content, 6)}>` : 'Answer<never>')

function parametersIn(place: string, parameters: Parameter[]): string[] {
  const here = parameters.filter(parameter => parameter.in === place)
  if (here.length === 0) return []
  const optional = here.some(({ required }) => required) ? '' : '?'
  const lines = here.map(
    ({ name, required, schema, description }) =>
      `${comment(description, 10)}          ${key(name)}${required ? '' : '?'}: ${typeOf(schema, 10)}`,
  )
  return [`        ${place}${optional}: {\n${lines.join('\n')}\n        }`]
}

const contentType = (content: Content, indent: number) =>
  `{ ${Object.entries(content)
    .map(([type, { schema }]) => `${quote(type)}: ${schema ? typeOf(schema, indent) : 'unknown'}`)
    .join('; ')} }`

export function typeOf(schema: Schema, indent = 0): string {
  if (schema.$ref) return `components['schemas'][${quote(schema.$ref.split('/').at(-1)!)}]`
  if (schema.const !== undefined) return literal(schema.const)
  if (schema.enum) return union(schema.enum.map(literal))
  const choices = schema.anyOf ?? schema.oneOf
  if (choices) return union(choices.map(choice => typeOf(choice, indent)))
  if (schema.allOf) return schema.allOf.map(part => `(${typeOf(part, indent)})`).join(' & ')
  if (Array.isArray(schema.type)) return union(schema.type.map(type => typeOf({ ...schema, type }, indent)))
  switch (schema.type) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type
    case 'number':
    case 'integer':
      return 'number'
    case 'array':
      return schema.prefixItems
        ? `[${schema.prefixItems.map(item => typeOf(item, indent)).join(', ')}]`
        : `(${typeOf(schema.items ?? {}, indent)})[]`
    case 'object':
      return objectType(schema, indent)
    default:
      return 'unknown'
  }
}

function objectType({ properties = {}, required = [], additionalProperties }: Schema, indent: number): string {
  const inner = ' '.repeat(indent + 2)
  const lines = Object.entries(properties).map(
    ([name, property]) =>
      `${comment(property.description, indent + 2)}${inner}${key(name)}${required.includes(name) ? '' : '?'}: ${typeOf(property, indent + 2)}`,
  )
  const others = typeof additionalProperties === 'object' ? typeOf(additionalProperties, indent) : 'unknown'
  if (lines.length === 0) return `Record<string, ${additionalProperties === false ? 'never' : others}>`
  return `{\n${lines.join('\n')}\n${' '.repeat(indent)}}`
}

function usedSchemas(from: unknown, all: Record<string, Schema>, found = new Map<string, Schema>()) {
  for (const [, name] of JSON.stringify(from).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    const schema = all[name!]
    if (!schema || found.has(name!)) continue
    found.set(name!, schema)
    usedSchemas(schema, all, found)
  }
  return new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1)))
}

const union = (types: string[]) => [...new Set(types)].join(' | ')
const quote = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
const literal = (value: unknown) => (typeof value === 'string' ? quote(value) : String(value))
const key = (name: string) => (/^([A-Za-z_$][\w$]*|\d+)$/.test(name) ? name : quote(name))
const comment = (text: string | undefined, indent: number) =>
  text ? `${' '.repeat(indent)}/** ${text.replaceAll('*/', '*\\/').replaceAll(/\s+/g, ' ')} */\n` : ''
