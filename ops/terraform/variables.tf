variable "url" {
  description = "The public address of the gateway, such as https://gateway.example.com"
  type        = string

  validation {
    condition     = can(regex("^https://[^/?#]+$", var.url))
    error_message = "Must look like https://gateway.example.com, without a path."
  }
}

variable "name" {
  description = "The name of the configuration set and, with -events, of the topic"
  type        = string
  default     = "email-gateway"
}

variable "domains" {
  description = "Sender domains. Allow each for its company with: email-gateway domain add DOMAIN --company NAME"
  type        = set(string)
  default     = []
}
