# Records with VCR for R, by the client crul.
library(vcr)
base <- commandArgs(trailingOnly = TRUE)[1]
invisible(vcr_configure(dir = ".", filter_sensitive_data = list("<TOKEN>" = "hidden")))
client <- crul::HttpClient$new(url = base)
invisible(use_cassette("texts", {
  for (path in c("text", "json", "lines", "events")) client$get(path)
}))
invisible(use_cassette("heads", {
  for (path in c("fields", "missing", "busy", "empty", "nothing")) client$get(path)
  client$head("text")
  crul::HttpClient$new(url = base, headers = list(Authorization = "Bearer hidden"))$get("text")
}))
invisible(use_cassette("exact", preserve_exact_body_bytes = TRUE, {
  for (path in c("text", "image", "octets")) client$get(path)
}))
invisible(use_cassette("uploads", {
  client$post("echo", body = list(a = "1 2"), encode = "form")
  client$post("echo", body = list(name = "a"), encode = "json")
}))
invisible(use_cassette("heads-json", serialize_with = "json", {
  for (path in c("text", "fields")) client$get(path)
}))
